"""Plans of the logistic function and of SiLU."""

from __future__ import annotations

from step.functions.silu import Sigmoid
from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounding, tabulated, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """A plan as of any function of scalars.

    SiLU takes three cycles, cut at the table and behind it, and two per further stage up to four, one for the fifth.
    The logistic function takes three cycles more than its stages, five at most.
    """
    stages = application.fabric.stages
    cycles = min(stages, 5) + 3 if isinstance(function, Sigmoid) else tabulated(lambda few: 1 + 2 * few, stages)
    return vector_plan(function, application, cycles=cycles + rounding(application))
