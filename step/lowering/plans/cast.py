"""Plan of conversions."""

from __future__ import annotations

from step.language.dtypes import BOOL
from step.language.function import Function
from step.lowering.plans.parts import computation
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounded, rounding, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """A cycle; between floating point and integers up to three, and one more to round to less than FP32."""
    source, result = application.words(0), application.words(-1)
    widens = (computation("widen", source.dtype),) * source.dtype.is_stored
    if BOOL in (source.dtype, result.dtype) or not (source.dtype.is_float or result.dtype.is_float):
        return vector_plan(function, application, cycles=1, computes=())
    if source.dtype.is_float and result.dtype.is_float:
        return vector_plan(function, application, cycles=1, computes=(*widens, computation("round", result.dtype)))
    converts = computation("to_integer" if source.dtype.is_float else "from_integer", source.dtype)
    cycles = min(application.fabric.stages, 3) + rounding(application)
    return vector_plan(function, application, cycles=cycles, computes=(*widens, converts, *rounded(application)))
