"""Plan of GELU."""

from __future__ import annotations

from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounding, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """As any function of scalars: five cycles, and two per stage of `FabricConfig.stages`."""
    return vector_plan(application, cycles=2 * application.fabric.stages + 5 + rounding(application))
