"""Plans of functions that make selectors, or keep what these would have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from step.functions.select import KeepTopK, TargetIndices, TopK
from step.language.dtypes import DType
from step.language.function import Function
from step.language.types import Tile
from step.lowering.plans.plan import Application, DatapathPlan, Timing, Wires


def plan(function: Function, application: Application) -> DatapathPlan:
    """Wires, of which the result is there with the first word; but for `TopK`, `KeepTopK` and `TargetIndices`."""
    if isinstance(function, TargetIndices):
        return IndicesPlan(application.inputs[0].bits, function.k)
    if not isinstance(function, TopK | KeepTopK):
        return Wires.of(function, application)
    (tile,) = application.inputs
    assert isinstance(tile, Tile)
    rows, scores = tile.shape
    steps = -(-scores // max(1, application.fabric.vector_lanes // scores))
    return TopKPlan(function.k, scores, tile.dtype, -(-scores // steps), rows, isinstance(function, KeepTopK))


@dataclass(frozen=True)
class IndicesPlan(DatapathPlan):
    """The index of one of so many ``targets`` in a cycle, ``k`` in all."""

    targets: int
    k: int

    streams = takes_rows = False
    rows = 1
    operand_bits = property(lambda self: (self.targets,))
    result_bits = property(lambda self: 32 * self.k)

    def at(self, rows: Any) -> Timing:
        return Timing(self.k, self.k)


@dataclass(frozen=True)
class TopKPlan(DatapathPlan):
    """All of so many ``scores`` of a ``format`` are compared with so many ``at_once``, those of a cycle.

    Before that they are brought together, and behind it all are counted: those that less than ``k`` beat win. So it is
    for each of several ``rows``, one after the other. What ``keeps`` scores has them until they leave.
    """

    k: int
    scores: int
    format: DType
    at_once: int
    rows: int = 1
    keeps: bool = False

    streams = takes_rows = False
    operand_bits = property(lambda self: (self.rows * self.scores * self.format.bits,))
    result_bits = property(lambda self: self.operand_bits[0] if self.keeps else self.scores)

    @property
    def steps(self) -> int:
        """Cycles of a row."""
        return -(-self.scores // self.at_once)

    def at(self, rows: Any) -> Timing:
        cycles = self.rows * self.steps
        return Timing(cycles + self.keeps, cycles + 1)
