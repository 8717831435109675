"""Timing of functions that count."""

from __future__ import annotations

from sim_approx.timing import Timing
from step.language.function import Function
from step.lowering.application import Application


def timing(function: Function, application: Application) -> Timing:
    """A number a cycle, at once."""
    return Timing(1, 0)
