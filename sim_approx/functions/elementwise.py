"""Timing of functions of single scalars."""

from __future__ import annotations

from sim_approx.timing import Timing
from step.language.function import Function
from step.language.types import ElementType, Tile
from step.lowering.fabric import FabricConfig


def timing(
    function: Function, inputs: tuple[ElementType, ...], result: ElementType, fabric: FabricConfig, *, reduce: bool
) -> Timing:
    """`vector_lanes` scalars of the result a cycle; the operands are registered first, and the result last."""
    return vector_timing(result, fabric, depth=0)


def vector_timing(result: ElementType, fabric: FabricConfig, *, depth: int) -> Timing:
    """Cycles of a function whose lanes have ``depth`` pipeline registers."""
    assert isinstance(result, Tile)
    interval = -(-int(result.elements) // fabric.vector_lanes)
    return Timing(interval, interval + 1 + depth)
