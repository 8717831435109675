"""Timing of SiLU."""

from __future__ import annotations

from sim_approx.functions.elementwise import vector_timing
from sim_approx.timing import Timing
from step.language.function import Function
from step.language.types import ElementType
from step.lowering.fabric import FabricConfig


def timing(
    function: Function, inputs: tuple[ElementType, ...], result: ElementType, fabric: FabricConfig, *, reduce: bool
) -> Timing:
    """As any function of scalars, with two registers inside a lane: behind the table and behind its interpolation."""
    return vector_timing(result, fabric, depth=2)
