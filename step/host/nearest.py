"""Nearest names to one that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """``"did you mean 'flatten'? "`` for the name among ``known`` that is closest to ``name``; empty if none is.

    Where none is close, those that have ``name`` as one of their words: ``lanes`` of ``matmul_lanes``.
    """
    if not isinstance(name, str):
        return ""
    names = list(known)
    close = get_close_matches(name, names, n=1, cutoff=0.75)
    close = close or [each for each in names if name in each.replace(".", "_").split("_")]
    return f"did you mean {' or '.join(map(repr, close))}? " if close else ""


def among(name: object, known: Iterable[str], says: str = "it has") -> str:
    """``"did you mean 'flatten'? it has accum, flatten"``: names near to ``name``, and all, behind what it ``says``."""
    names = list(known)
    return f"{did_you_mean(name, names)}{says} {', '.join(names) or 'none'}"
