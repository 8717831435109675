"""Plan of the largest scalar with its index."""

from __future__ import annotations

from dataclasses import dataclass

from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.words import Words


def plan(function: Function, application: Application) -> MaxIndexPlan:
    """Tiles are collected, and all their scalars are compared in a cycle."""
    values, indices = (Words.of(each, application.fabric.link_bytes) for each in application.inputs)
    return MaxIndexPlan(values, indices, 8 * application.fabric.link_bytes)


@dataclass(frozen=True)
class MaxIndexPlan:
    """The words of ``values`` and ``indices`` come; behind the last one is a cycle for the state, which then leaves."""

    values: Words
    indices: Words
    link_bits: int

    streams = True

    @property
    def initiation_interval(self) -> int:
        return max(self.values.beats, self.indices.beats)

    @property
    def latency(self) -> int:
        return self.initiation_interval + 1
