"""Timing of functions of single scalars."""

from __future__ import annotations

from sim_approx.timing import Timing
from step.functions.elementwise import Add, Cast, Mul
from step.language.dtypes import BF16, FP32
from step.language.function import Function
from step.language.types import Tile
from step.lowering.application import Application


def timing(function: Function, application: Application) -> Timing:
    """A sum or a product takes `FabricConfig.stages` cycles (a product of BF16 numbers at most 2), all else one.

    Rounding the FP32 result of a function of two scalars to another format takes one more.
    """
    stages = application.fabric.stages
    operands = (application.result, *application.inputs) if application.reduce else application.inputs
    exact = all(isinstance(each, Tile) and each.dtype is BF16 for each in operands)
    match function:
        case Cast():
            return vector_timing(application, cycles=1)
        case Add():
            cycles = stages
        case Mul():
            cycles = min(stages, 2) if exact else stages
        case _:
            cycles = 1
    return vector_timing(application, cycles=cycles + rounding(application))


def vector_timing(application: Application, *, cycles: int) -> Timing:
    """Cycles of a function whose lanes take ``cycles``, on `vector_lanes` of them; the operands are registered first.

    A reduction wants the state back before the next element, and needs no more lanes than that leaves busy.
    """
    assert isinstance(application.result, Tile)
    scalars = int(application.result.elements)
    interval = max(-(-scalars // application.fabric.vector_lanes), cycles if application.reduce else 1)
    return Timing(interval, min(interval, scalars) + cycles)


def rounding(application: Application) -> int:
    """Cycles to round an FP32 result to the format that is wanted."""
    assert isinstance(application.result, Tile)
    return int(application.result.dtype is not FP32)
