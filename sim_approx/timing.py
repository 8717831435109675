"""How long one firing of a unit's function takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Cycles of a function.

    ``initiation_interval``: from one start to the next, at least. ``latency``: from a start to its result. With
    ``streams`` that is from the first word of the operands to the first one of the result; else all operands have to be
    there at the start.
    """

    initiation_interval: int
    latency: int
    streams: bool = False
