"""Plan of arithmetic of single scalars."""

from __future__ import annotations

from step.functions.elementwise import Add, Mul, MulAdd, Scale, Sub
from step.language.dtypes import FP32, DType
from step.language.function import Function
from step.language.types import Tile
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounding, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """A sum or a product takes `FabricConfig.stages` cycles, all else one.

    A product of BF16 numbers or of integers takes at most 2, a sum of integers one. Rounding the FP32 result to BF16
    takes one more.
    """
    operands = (application.result, *application.inputs) if application.reduce else application.inputs
    formats = [each.dtype for each in operands if isinstance(each, Tile)]
    stages = application.fabric.stages
    adds = stages if formats[0].is_float else 1
    match function:
        case Add() | Sub():
            cycles = adds
        case Mul():
            cycles = _product(formats, stages)
        case Scale():
            cycles = stages if formats[0].is_float else min(stages, 2)
        case MulAdd():
            cycles = _product(formats[:2], stages) + adds
        case _:
            cycles = 1
    return vector_plan(function, application, cycles=cycles + rounding(application))


def _product(formats: list[DType], stages: int) -> int:
    """Cycles of a product of two numbers."""
    return stages if FP32 in formats else min(stages, 2)
