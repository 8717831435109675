"""Datapath of the magnitude."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Value

from hw.arithmetic.convert import converted
from hw.functions.vector import Lane
from permit.functions.magnitude import Magnitude


class MagnitudeLane(Lane, of=Magnitude):
    """The sign bit cleared; a conversion, to the same format too, flushes and makes NaN canonical."""

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        (value,), (source,) = operands, self.formats
        return converted(m, name, Cat(value[:-1], Const(0, 1)), source, self.out)
