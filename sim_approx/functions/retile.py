"""Timing of functions that join or split tiles."""

from __future__ import annotations

from sim_approx.timing import Timing
from step.language.function import Function
from step.lowering.application import Application


def timing(function: Function, application: Application) -> Timing:
    """Joining takes one tile a cycle into a register; splitting selects one piece a cycle, without a register."""
    return Timing(1, 1 if application.reduce else 0)
