"""Timing of SiLU."""

from __future__ import annotations

from sim_approx.functions.elementwise import rounding, vector_timing
from sim_approx.timing import Timing
from step.language.function import Function
from step.lowering.application import Application


def timing(function: Function, application: Application) -> Timing:
    """As any function of scalars: three cycles, cut at the table and behind it, and two per further stage."""
    return vector_timing(application, cycles=1 + 2 * application.fabric.stages + rounding(application))
