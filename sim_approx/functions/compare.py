"""Timing of comparisons and of choices."""

from __future__ import annotations

from sim_approx.functions.elementwise import vector_timing
from sim_approx.timing import Timing
from step.language.function import Function
from step.lowering.application import Application


def timing(function: Function, application: Application) -> Timing:
    """A cycle."""
    return vector_timing(application, cycles=1)
