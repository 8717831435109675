"""Plans of functions that make selectors."""

from __future__ import annotations

from dataclasses import dataclass

from step.functions.select import TopK
from step.language.function import Function
from step.language.types import Tile
from step.lowering.plans.plan import Application, Plan, Timing


def plan(function: Function, application: Application) -> Plan:
    """Wires, of which the result is there with the first word; but for `TopK`."""
    if not isinstance(function, TopK):
        return Timing(1, 0, streams=True)
    (tile,) = application.inputs
    assert isinstance(tile, Tile)
    return TopKPlan(tile.shape[1], application.fabric.vector_lanes)


@dataclass(frozen=True)
class TopKPlan:
    """All of so many ``scores`` are compared with one in a cycle, or with as many as ``lanes`` comparisons allow.

    Before that they are brought together, and behind it all are counted.
    """

    scores: int
    lanes: int

    streams = False

    @property
    def initiation_interval(self) -> int:
        return -(-self.scores // max(1, self.lanes // self.scores))

    @property
    def latency(self) -> int:
        return self.initiation_interval + 1

    @property
    def at_once(self) -> int:
        """Scores that all others are compared with in a cycle."""
        return -(-self.scores // self.initiation_interval)
