"""Plan of the hyperbolic tangent."""

from __future__ import annotations

from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounding, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """As any function of scalars: two cycles per stage, at most as many as it has steps, and one."""
    return vector_plan(application, cycles=1 + min(2 * application.fabric.stages, 7) + rounding(application))
