"""The offline stack itself: its pieces, its poller and what the emulator does like AWS."""
