"""Datapath of conversions."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Module, Mux, Signal, Value

from hw.arithmetic.convert import as_fp32, as_integer, converted
from hw.arithmetic.integers import FromInteger, ToInteger
from hw.arithmetic.staged import Staged, placed
from hw.functions.datapath import Datapath, no_datapath
from hw.functions.sequence import later
from hw.functions.vector import Lane, vector_datapath
from step.functions.cast import Cast
from step.language.dtypes import BF16, BOOL, FP32
from step.language.function import Function
from step.language.numerics import fp32_bits
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan


def datapath(function: Function, application: Application, plan: VectorPlan) -> Datapath:
    """The datapath for a tile, on `vector_lanes` lanes; the same under ``arithmetic="model"``."""
    if not isinstance(function, Cast):
        raise no_datapath(function)
    return vector_datapath(CastLane, function, application, plan)


class CastLane(Lane):
    """A scalar in another format."""

    @property
    def _leaf(self) -> Staged | None:
        """The converter between numbers with and without a fraction."""
        (source,) = self.formats
        if BOOL in (source, self.out) or source.is_float == self.out.is_float:
            return None
        return ToInteger(self.out, self.stages) if source.is_float else FromInteger(source, self.stages)

    @property
    def _rounds(self) -> bool:
        """Whether an integer goes to BF16, by way of FP32."""
        return self._leaf is not None and self.out is BF16

    @property
    def depth(self) -> int:
        return (0 if self._leaf is None else self._leaf.depth) + self._rounds

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        (value,), (source,) = operands, self.formats
        if source is BOOL:
            one = fp32_bits(1) >> 32 - self.out.bits if self.out.is_float else 1
            return Mux(value, C(one, self.out.bits), 0)
        if self.out is BOOL:
            return (value[source.bits - 9 : -1] if source.is_float else value).any()
        if self._leaf is None and source.is_float:
            return converted(m, name, value, source, self.out)
        if self._leaf is None:
            lowest = Signal(self.out.bits, name=f"{name}_lowest")
            m.d.comb += lowest.eq(as_integer(value, source))
            return lowest
        result = placed(m, name, self._leaf, as_fp32(value, source) if source.is_float else value)
        if not self._rounds:
            return result
        return converted(m, f"{name}_round", later(m, result, 1, f"{name}_result"), FP32, BF16)
