"""Plan of reciprocals and quotients."""

from __future__ import annotations

from step.functions.reciprocal import Div
from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounding, tabulated, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """A plan as for all functions of scalars: as `tabulated` says, a cycle more than its stages, for a quotient two
    more."""
    more, products = (3, 2) if isinstance(function, Div) else (1, 1)
    cycles = tabulated(lambda few: few + more, application.fabric.stages, products)
    return vector_plan(function, application, cycles=cycles + rounding(application))
