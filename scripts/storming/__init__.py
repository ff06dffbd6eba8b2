"""`scripts/storm`: many conversations at once while processes die at random, and an account of what became of them."""
