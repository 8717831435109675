"""Builds that are kept, and how large they may get."""
