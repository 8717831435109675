"""Affine reads: loops over tiles that lie in a row."""

from __future__ import annotations

from step.language.loops import Walk
from step.language.operator import expect


def check_walk(walk: Walk, tiles: int, lies: str) -> None:
    """Raise `TypeMismatch` for a ``walk`` that is none, or leaves the ``tiles``; ``lies`` says what has so many."""
    out, stride = list(walk.extents), list(walk.strides)
    expect(len(out) >= 1 and all(each >= 1 for each in out), f"out must be extents >= 1, not {out}")
    expect(len(stride) == len(out), f"stride must have one entry per dimension of out {out}, not {stride}")
    first, last = walk.bounds
    expect(first >= 0 and last < tiles, f"the read goes from tile {first} to tile {last}, but {lies}")
