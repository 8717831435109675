"""What somebody may have meant who wrote a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``"did you mean 'flatten'? "`` for the name among ``known`` that is closest to ``name``; empty if none is."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f"did you mean {close[0]!r}? " if close else ""
