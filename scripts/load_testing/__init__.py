"""`scripts/load_test`: how many conversations a deployment answers at once, and whether each message is answered."""
