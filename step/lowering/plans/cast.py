"""Plan of conversions."""

from __future__ import annotations

from step.language.dtypes import BOOL
from step.language.function import Function
from step.language.types import Tile
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan, rounding, vector_plan


def plan(function: Function, application: Application) -> VectorPlan:
    """A cycle; between floating point and integers up to three, and one more to round to less than FP32."""
    (source,), result = application.inputs, application.result
    assert isinstance(source, Tile) and isinstance(result, Tile)
    if BOOL in (source.dtype, result.dtype) or source.dtype.is_float == result.dtype.is_float:
        return vector_plan(function, application, cycles=1)
    return vector_plan(function, application, cycles=min(application.fabric.stages, 3) + rounding(application))
