"""Tool servers reached over HTTP. The only package that imports httpcore."""
