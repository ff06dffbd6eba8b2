"""Takes rules out of the code, one at a time, and requires that a test notices."""
