"""Real services for tests that need them, started once and only when asked for."""
