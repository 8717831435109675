"""Plan of comparisons and of choices."""

from __future__ import annotations

from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """A cycle."""
    return vector_plan(function, application, cycles=1)
