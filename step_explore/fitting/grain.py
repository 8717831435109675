"""How fine choices of hardware are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Grain:
    """``parts`` of the fabric's links, the narrowest first; lanes in steps of so many ``eighths`` of a power of two."""

    parts: tuple[int, ...]
    eighths: tuple[int, ...]


FINE = Grain((8, 4, 2, 1), tuple(range(8, 16)))
LINKED = Grain((4, 2, 1), (8,))
COARSE = Grain((1,), (8,))
"""All choices; links of half and quarter width, and lanes that are powers of two; those lanes with the widest links."""
