"""Timing of the exponential."""

from __future__ import annotations

from sim_approx.functions.elementwise import rounding, vector_timing
from sim_approx.timing import Timing
from step.language.function import Function
from step.lowering.application import Application


def timing(function: Function, application: Application) -> Timing:
    """As any function of scalars: three cycles more than `FabricConfig.stages`."""
    return vector_timing(application, cycles=application.fabric.stages + 3 + rounding(application))
