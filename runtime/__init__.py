"""The Infinity agent runtime: one bounded slice per delivery, over ports."""
