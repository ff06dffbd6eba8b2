"""The tests: one folder per kind, names that are sentences."""
