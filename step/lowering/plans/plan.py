"""The common part of plans: three numbers, from which the cycles of a unit follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Plan(Protocol):
    """Cycles of a function on a fabric.

    ``initiation_interval``: from one start to the next, at least. ``latency``: from a start to its result. With
    ``streams`` that is from the first word of the operands to the first one of the result; else all operands have to be
    there at the start.
    """

    @property
    def initiation_interval(self) -> int: ...

    @property
    def latency(self) -> int: ...

    @property
    def streams(self) -> bool: ...


@dataclass(frozen=True)
class Timing:
    """A `Plan` that is the numbers alone: of wires, or of what was measured."""

    initiation_interval: int
    latency: int
    streams: bool = False
