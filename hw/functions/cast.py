"""Datapath of conversions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from amaranth.hdl import C, Module, Mux, Signal, Value

from hw.arithmetic.convert import as_fp32, as_integer, converted
from hw.arithmetic.integers import FromInteger, ToInteger
from hw.arithmetic.staged import Staged, placed
from hw.functions.vector import Lane
from hw.primitives.timing import delayed
from step.functions.cast import Cast
from step.language.dtypes import BOOL, FP32


class CastLane(Lane, of=Cast):
    """A scalar in another format."""

    function: Cast

    @property
    def _leaf(self) -> Staged | None:
        """The converter between numbers with and without a fraction."""
        (source,) = self.formats
        if BOOL in (source, self.out) or source.is_float == self.out.is_float:
            return None
        return ToInteger(self.out, self.stages) if source.is_float else FromInteger(source, self.stages)

    @property
    def _rounds(self) -> bool:
        """Whether an integer goes to less than FP32, by way of it."""
        return self._leaf is not None and self.out.is_float and self.out is not FP32

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        (value,), (source,) = operands, self.formats
        if source is BOOL:
            one = int(np.ones((), self.out.numpy).view(f"u{self.out.bytes}"))
            return Mux(value, C(one, self.out.bits), 0)
        if self.out is BOOL:
            least = 0 if source.is_stored else source.bits - 9  # what is subnormal in BF16 and FP32 is zero
            return (value[least:-1] if source.is_float else value).any()
        if self._leaf is None and source.is_float:
            return converted(m, name, value, source, self.out, saturate=self.function.saturate)
        if self._leaf is None:
            lowest = Signal(self.out.bits, name=f"{name}_lowest")
            m.d.comb += lowest.eq(as_integer(value, source))
            return lowest
        if source.is_stored:
            value = converted(m, f"{name}_wide", value, source, FP32)
        elif source.is_float:
            value = as_fp32(value, source)
        result = placed(m, name, self._leaf, value)
        if not self._rounds:
            return result
        exact = delayed(m, result, 1, f"{name}_result")
        return converted(m, f"{name}_round", exact, FP32, self.out, saturate=self.function.saturate)
