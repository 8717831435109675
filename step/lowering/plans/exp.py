"""Plan of the exponential."""

from __future__ import annotations

from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounding, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """As any function of scalars: three cycles more than `FabricConfig.stages`."""
    return vector_plan(application, cycles=application.fabric.stages + 3 + rounding(application))
