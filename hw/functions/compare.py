"""Datapaths of comparisons and of choices."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Mux, Value

from hw.arithmetic.convert import as_integer, is_nan, ordered
from hw.functions.datapath import Datapath, no_datapath
from hw.functions.elementwise import in_fp32
from hw.functions.vector import Lane, vector_datapath
from step.functions.compare import RELATIONS, Compare, Where
from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan


def datapath(function: Function, application: Application, plan: VectorPlan) -> Datapath:
    """The datapath for tiles, on `vector_lanes` lanes; the same under ``arithmetic="model"``."""
    if type(function) not in LANES:
        raise no_datapath(function)
    return vector_datapath(LANES[type(function)], function, application, plan)


class CompareLane(Lane):
    """Whether two scalars have a relation."""

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        assert isinstance(self.function, Compare)
        relation = self.function.relation
        if not self.formats[0].is_float:
            first, second = (as_integer(each, dtype) for each, dtype in zip(operands, self.formats, strict=True))
            result: Value = RELATIONS[relation](first, second)
            return result
        numbers = in_fp32(m, name, operands, self.formats)
        # A zero is that of the positive sign.
        first, second = (ordered(Mux(each[23:31].any(), each, 0)) for each in numbers)
        return Mux(is_nan(numbers[0]) | is_nan(numbers[1]), relation == "!=", RELATIONS[relation](first, second))


class WhereLane(Lane):
    """One of two scalars, as it is."""

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        condition, first, second = operands
        return Mux(condition, first, second)


LANES: dict[type[Function], type[Lane]] = {Compare: CompareLane, Where: WhereLane}
