"""Plan of weights that are multiplied by their scales."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from step.functions.dequantize import Dequantize
from step.language.dtypes import BF16, DType
from step.lowering.plans.parts import computation
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounded, rounding, vector_plan

INT4 = DType("INT4", 4, np.dtype(np.int8))
"""Half of an INT8; what is on the wires is the same."""


def plan(function: Dequantize, application: Application) -> VectorPlan:
    """A plan like that of any function of scalars: a conversion, and a product."""
    stages = application.fabric.stages
    weights, scales = map(application.words, range(2))
    if function.bits == 4:
        weights = replace(weights, cols=2 * weights.cols, dtype=INT4)
    product = min(stages, 2) if scales.dtype is BF16 else stages
    cycles = min(stages, 3) + product + rounding(application)
    parts = computation("from_integer", weights.dtype), computation("multiply", scales.dtype), *rounded(application)
    return vector_plan(function, application, cycles=cycles, operands=(weights, scales), computes=parts)
