"""Plan of functions that count."""

from __future__ import annotations

from step.language.function import Function
from step.lowering.plans.plan import Application, Timing


def plan(function: Function, application: Application) -> Timing:
    """A number a cycle, at once."""
    return Timing(1, 0)
