"""Timing of reciprocals and quotients."""

from __future__ import annotations

from sim_approx.functions.elementwise import rounding, vector_timing
from sim_approx.timing import Timing
from step.functions.reciprocal import Div
from step.language.function import Function
from step.lowering.application import Application


def timing(function: Function, application: Application) -> Timing:
    """As any function of scalars: a cycle more than `FabricConfig.stages`, and two more for a product behind it."""
    cycles = application.fabric.stages + (3 if isinstance(function, Div) else 1)
    return vector_timing(application, cycles=cycles + rounding(application))
