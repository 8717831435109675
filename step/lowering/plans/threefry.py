"""Plan of random numbers."""

from __future__ import annotations

from step.functions.threefry import ROUNDS, Threefry
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, vector_plan


def plan(function: Threefry, application: Application) -> VectorPlan:
    """Four rounds in a cycle, two with two stages, one with more."""
    return vector_plan(function, application, cycles=ROUNDS // max(1, 4 >> application.fabric.stages - 1))
