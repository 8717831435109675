"""Plans of functions that make selectors, or keep what these would have."""

from __future__ import annotations

from dataclasses import dataclass

from step.functions.select import KeepTopK, TargetIndices, TopK
from step.language.function import Function
from step.language.types import Tile
from step.lowering.plans.plan import Application, Plan, Timing


def plan(function: Function, application: Application) -> Plan:
    """Wires, of which the result is there with the first word; but for `TopK`, `KeepTopK` and `TargetIndices`."""
    if isinstance(function, TargetIndices):
        return IndicesPlan(application.inputs[0].bits, function.k)
    if not isinstance(function, TopK | KeepTopK):
        return Timing(1, 0, streams=True)
    (tile,) = application.inputs
    assert isinstance(tile, Tile)
    rows, scores = tile.shape
    return TopKPlan(scores, application.fabric.vector_lanes, rows, isinstance(function, KeepTopK))


@dataclass(frozen=True)
class IndicesPlan:
    """Of so many ``targets`` the index of one in a cycle, ``k`` in all."""

    targets: int
    k: int

    streams = False

    @property
    def initiation_interval(self) -> int:
        return self.k

    @property
    def latency(self) -> int:
        return self.k


@dataclass(frozen=True)
class TopKPlan:
    """All of so many ``scores`` are compared with one in a cycle, or with as many as ``lanes`` comparisons allow.

    Before that they are brought together, and behind it all are counted; of several ``rows`` one after the other. What
    ``keeps`` scores has them until they leave.
    """

    scores: int
    lanes: int
    rows: int = 1
    keeps: bool = False

    streams = False

    @property
    def steps(self) -> int:
        """Cycles of a row."""
        return -(-self.scores // max(1, self.lanes // self.scores))

    @property
    def initiation_interval(self) -> int:
        return self.rows * self.steps + self.keeps

    @property
    def latency(self) -> int:
        return self.rows * self.steps + 1

    @property
    def at_once(self) -> int:
        """Scores that all others are compared with in a cycle."""
        return -(-self.scores // self.steps)
