"""The shapes of what crosses an edge: queue bodies, tool-server HTTP, stored rows."""
