"""Timing of functions that join or split tiles."""

from __future__ import annotations

from sim_approx.timing import Timing
from step.language.function import Function
from step.language.types import ElementType
from step.lowering.fabric import FabricConfig


def timing(
    function: Function, inputs: tuple[ElementType, ...], result: ElementType, fabric: FabricConfig, *, reduce: bool
) -> Timing:
    """Joining takes one tile a cycle into a register; splitting selects one piece a cycle, without a register."""
    return Timing(1, 1 if reduce else 0)
