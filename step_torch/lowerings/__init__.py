"""Lowerings, one file per family of operators; each is found by itself."""
