"""Plan of functions that replace rows or columns of a tile."""

from __future__ import annotations

from step.language.function import Function
from step.lowering.links import beats
from step.lowering.plans.plan import Application, Timing


def plan(function: Function, application: Application) -> Timing:
    """Words go through a register as they come."""
    return Timing(beats(application.inputs[0], application.fabric.link_bytes), 1, streams=True)
