"""Datapath of the magnitude."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Value

from hw.arithmetic.convert import converted
from hw.functions.datapath import Datapath
from hw.functions.vector import Lane, vector_datapath
from permit.functions.magnitude import Magnitude
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan


def datapath(function: Magnitude, application: Application, plan: VectorPlan) -> Datapath:
    """The datapath for a tile, on `vector_lanes` lanes."""
    return vector_datapath(MagnitudeLane, function, application, plan)


class MagnitudeLane(Lane):
    """The sign bit cleared; a conversion, to the same format too, flushes and makes NaN canonical."""

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        (value,), (source,) = operands, self.formats
        return converted(m, name, Cat(value[:-1], Const(0, 1)), source, self.out)
