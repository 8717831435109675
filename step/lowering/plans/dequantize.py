"""Plan of integers that are multiplied by their scales."""

from __future__ import annotations

from step.functions.dequantize import Dequantize
from step.language.dtypes import BF16, FP32, INT32
from step.lowering.plans.parts import computation, product
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounded, rounding, vector_plan


def plan(function: Dequantize, application: Application) -> VectorPlan:
    """A plan like that of any function of scalars: a conversion, and a product, of BF16 where both factors fit."""
    stages = application.fabric.stages
    integers, scales = application.words(0).of_bits(function.bits), application.words(1)
    factors = FP32 if integers.dtype is INT32 else scales.dtype
    multiplying = min(stages, 2) if factors is BF16 else min(stages, 4)
    cycles = min(stages, 3) + multiplying + rounding(application)
    parts = computation("from_integer", integers.dtype), product(factors, scales.dtype), *rounded(application)
    return vector_plan(function, application, cycles=cycles, operands=(integers, scales), computes=parts)
