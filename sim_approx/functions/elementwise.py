"""Timing of functions of single scalars."""

from __future__ import annotations

from sim_approx.timing import Timing
from step.language.function import Function
from step.language.types import Tile
from step.lowering.application import Application


def timing(function: Function, application: Application) -> Timing:
    """`vector_lanes` scalars of the result a cycle; the operands are registered first, and the result last."""
    return vector_timing(application, depth=0)


def vector_timing(application: Application, *, depth: int) -> Timing:
    """Cycles of a function whose lanes have ``depth`` pipeline registers."""
    assert isinstance(application.result, Tile)
    interval = -(-int(application.result.elements) // application.fabric.vector_lanes)
    return Timing(interval, interval + 1 + depth)
