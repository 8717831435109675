"""Plan of SiLU."""

from __future__ import annotations

from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounding, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """A function of scalars like any other: three cycles, cut at the table and behind it, and two per further stage."""
    return vector_plan(application, cycles=1 + 2 * application.fabric.stages + rounding(application))
