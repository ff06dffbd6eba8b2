"""Frozen values the runtime decides with. Nothing here acts, and nothing here imports a port."""
