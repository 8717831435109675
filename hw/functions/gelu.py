"""Datapath of GELU."""

from __future__ import annotations

from hw.arithmetic.gelu import Gelu as GeluUnit
from hw.arithmetic.staged import Staged
from hw.functions.datapath import Datapath, no_datapath
from hw.functions.elementwise import LeafLane
from hw.functions.vector import vector_datapath
from step.functions.gelu import Gelu
from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan


def datapath(function: Function, application: Application, plan: VectorPlan) -> Datapath:
    """The datapath for a tile, on `vector_lanes` lanes; the same under ``arithmetic="model"``."""
    if not isinstance(function, Gelu):
        raise no_datapath(function)
    return vector_datapath(GeluLane, function, application, plan)


class GeluLane(LeafLane):
    """GELU of a scalar in FP32, then rounded to ``out``."""

    @property
    def leaf(self) -> Staged:
        return GeluUnit(self.stages)
