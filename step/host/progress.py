"""Progress of long work: library code tells it, and the front end renders it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str], None]
"""Told a line of text at every stage of long work."""


def silent(text: str) -> None:
    """Progress that nobody watches."""
