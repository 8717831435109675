"""Plan of comparisons and of choices."""

from __future__ import annotations

from step.language.function import Function
from step.lowering.plans.parts import computation
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """A cycle."""
    formats = (application.words(port).dtype for port in range(len(application.inputs)))
    return vector_plan(function, application, cycles=1, computes=(computation(function.name, *formats),))
