"""Plan of functions that count."""

from __future__ import annotations

from step.language.function import Function
from step.lowering.plans.plan import Application, Wires


def plan(function: Function, application: Application) -> Wires:
    """A number a cycle, at once."""
    return Wires.of(function, application)
