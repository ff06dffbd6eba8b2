"""The ports in one process: for embedding, for tests, and as the peer the real adapters are compared with."""
