"""Streaming tensor programs: the language."""
