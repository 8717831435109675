"""Plan of functions that replace rows or columns of a tile."""

from __future__ import annotations

from dataclasses import dataclass

from step.language.function import Function
from step.lowering.plans.plan import Application, TilePlan


def plan(function: Function, application: Application) -> EditPlan:
    """Words go through a register as they come."""
    return EditPlan(application.words(0), application.dynamic)


@dataclass(frozen=True)
class EditPlan(TilePlan):
    """The words of the ``tile`` leave so many ``cycles`` after they came."""

    cycles: int = 1

    @property
    def latency(self) -> int:
        return self.cycles
