"""How library code says what it is doing: it calls, and the front end renders."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str], None]
"""Told a line of text at every stage of long work."""


def silent(text: str) -> None:
    """Progress that nobody watches."""
