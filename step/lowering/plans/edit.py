"""Plan of functions that replace rows or columns of a tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from step.language.function import Function
from step.lowering.plans.plan import Application, Timing
from step.lowering.plans.rows import largest, parts
from step.lowering.plans.words import Words


def plan(function: Function, application: Application) -> EditPlan:
    """Words go through a register as they come."""
    return EditPlan(application.words(0), application.dynamic)


@dataclass(frozen=True)
class EditPlan:
    """The words of the ``tile`` leave so many ``cycles`` after they came."""

    tile: Words
    dynamic: bool = False
    cycles: int = 1

    streams = True

    @property
    def initiation_interval(self) -> int:
        return self.tile.beats

    @property
    def latency(self) -> int:
        return self.cycles

    def at(self, rows: Any) -> Timing:
        """The cycles with so many ``rows``."""
        words = parts(rows, self.tile.cols * self.tile.dtype.bits, self.tile.link_bits)
        return Timing(largest(1, words), self.latency, streams=True)
