"""Plan of the magnitude."""

from __future__ import annotations

from permit.functions.magnitude import Magnitude
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, vector_plan


def plan(function: Magnitude, application: Application) -> VectorPlan:
    """Nothing but wires and a conversion."""
    return vector_plan(function, application, cycles=1)
