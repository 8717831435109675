"""Datapath of the reciprocal square root."""

from __future__ import annotations

from hw.arithmetic.rsqrt import Rsqrt as RsqrtUnit
from hw.arithmetic.staged import Staged
from hw.functions.datapath import Datapath, no_datapath
from hw.functions.elementwise import LeafLane
from hw.functions.vector import vector_datapath
from step.functions.rsqrt import Rsqrt
from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan


def datapath(function: Function, application: Application, plan: VectorPlan) -> Datapath:
    """The datapath for a tile, on `vector_lanes` lanes; the same under ``arithmetic="model"``."""
    if not isinstance(function, Rsqrt):
        raise no_datapath(function)
    return vector_datapath(RsqrtLane, function, application, plan)


class RsqrtLane(LeafLane):
    """The reciprocal square root of a scalar in FP32, then rounded to ``out``."""

    @property
    def leaf(self) -> Staged:
        return RsqrtUnit(self.stages)
