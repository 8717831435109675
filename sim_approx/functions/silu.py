"""Timing of SiLU."""

from __future__ import annotations

from sim_approx.functions.elementwise import vector_timing
from sim_approx.timing import Timing
from step.language.function import Function
from step.lowering.application import Application


def timing(function: Function, application: Application) -> Timing:
    """As any function of scalars, with two registers inside a lane: behind the table and behind its interpolation."""
    return vector_timing(application, depth=2)
