"""Plans of the logistic function and of SiLU."""

from __future__ import annotations

from step.functions.silu import Sigmoid
from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounding, tabulated, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """A plan as of any function of scalars.

    As `tabulated` says: SiLU takes three cycles, cut at the table and behind it, and two per further stage, the
    logistic function three cycles more than its stages.
    """
    stages = application.fabric.stages
    slope, first, products = (1, 3, 2) if isinstance(function, Sigmoid) else (2, 1, 3)
    cycles = tabulated(lambda few: first + slope * few, stages, products, joined=1)
    return vector_plan(function, application, cycles=cycles + rounding(application))
