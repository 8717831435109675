"""Plan of arithmetic of single scalars."""

from __future__ import annotations

from step.functions.elementwise import Add, Max, Min, Mul, MulAdd, Scale, Sub
from step.language.dtypes import FP32, DType
from step.language.function import Function
from step.language.types import Tile
from step.lowering.plans.parts import computation, product
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounded, rounding, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """A sum takes `FabricConfig.stages` cycles, a product at most 4 of them, all else one.

    With five stages and more it is known a cycle before which of two floating point numbers is the larger one. A
    product of BF16 numbers or of integers takes at most 2, a sum of integers one. Rounding the FP32 result to BF16
    takes one more.
    """
    operands = (application.result, *application.inputs) if application.reduce else application.inputs
    formats = [each.dtype for each in operands if isinstance(each, Tile)]
    stages = application.fabric.stages
    adds = stages if formats[0].is_float else 1
    if not formats[0].is_float:  # what is beyond the result is not computed
        formats = [min(each, application.words(-1).dtype, key=lambda each: each.bits) for each in formats]
    match function:
        case Add() | Sub():
            cycles, parts = adds, [computation("add", *formats)]
        case Mul():
            cycles, parts = _product(formats, stages), [product(*formats)]
        case Scale():
            cycles = min(stages, 4 if formats[0].is_float else 2)
            parts = [product(formats[0], FP32 if formats[0].is_float else formats[0])]
        case MulAdd():
            cycles = _product(formats[:2], stages) + adds
            parts = [product(*formats[:2]), computation("add", *formats)]
        case Max() | Min():
            cycles, parts = 1 + (formats[0].is_float and stages > 4), [computation("max", *formats)]
        case _:
            cycles, parts = 1, [computation("max", *formats)]
    computes = *parts, *rounded(application)
    return vector_plan(function, application, cycles=cycles + rounding(application), computes=computes)


def _product(formats: list[DType], stages: int) -> int:
    """Cycles of a product of two numbers."""
    return min(stages, 4 if FP32 in formats else 2)
