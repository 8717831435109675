"""Plan of numbers without their fraction."""

from __future__ import annotations

from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounding, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """As any function of scalars: a cycle, or two."""
    return vector_plan(function, application, cycles=min(application.fabric.stages, 2) + rounding(application))
