"""Plan of reciprocals and quotients."""

from __future__ import annotations

from step.functions.reciprocal import Div
from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounding, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """A plan as for all functions of scalars: a cycle more than its stages, five at most, for a quotient two more."""
    cycles = min(application.fabric.stages, 5) + (3 if isinstance(function, Div) else 1)
    return vector_plan(function, application, cycles=cycles + rounding(application))
