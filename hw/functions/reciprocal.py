"""Datapaths of reciprocals and quotients."""

from __future__ import annotations

from hw.arithmetic.divide import Divide
from hw.arithmetic.divide import Reciprocal as ReciprocalUnit
from hw.arithmetic.staged import Staged
from hw.functions.datapath import Datapath, no_datapath
from hw.functions.elementwise import LeafLane
from hw.functions.vector import Lane, vector_datapath
from step.functions.reciprocal import Div, Reciprocal
from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan


def datapath(function: Function, application: Application, plan: VectorPlan) -> Datapath:
    """The datapath for tiles, on `vector_lanes` lanes; the same under ``arithmetic="model"``."""
    if type(function) not in LANES:
        raise no_datapath(function)
    return vector_datapath(LANES[type(function)], function, application, plan)


class ReciprocalLane(LeafLane):
    """The reciprocal of a scalar in FP32, then rounded to ``out``."""

    @property
    def leaf(self) -> Staged:
        return ReciprocalUnit(self.stages)


class DivLane(LeafLane):
    """The quotient of two scalars in FP32, then rounded to ``out``."""

    @property
    def leaf(self) -> Staged:
        return Divide(self.stages)


LANES: dict[type[Function], type[Lane]] = {Div: DivLane, Reciprocal: ReciprocalLane}
