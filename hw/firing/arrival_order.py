"""Arrival order: which of several inputs has been waiting for the longest time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.verilog.modules import Parametric


class ArrivalOrder(Parametric):
    """``first``: of the inputs in ``among``, the one that is ``waiting`` since the earliest cycle; then the lowest.

    All are masks of so many ``inputs``; ``first`` has one bit, or none where none of them waits, and is there at once.
    What is kept is a bit per pair of inputs, who of the two came first: there are no times, and none that overflow.
    """

    def __init__(self, inputs: int) -> None:
        self._count = inputs
        super().__init__(dict.fromkeys(("waiting", "among"), In(inputs)) | {"first": Out(inputs)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        candidates = Signal(self._count)
        m.d.comb += candidates.eq(self.waiting & self.among)
        before: list[list[Value]] = [[] for _ in range(self._count)]  # by input, the candidates that came before it
        for low, high in combinations(range(self._count), 2):
            lower_first = Signal(init=1, name=f"first_{low}_{high}")
            with m.If(~self.waiting[high]):  # who comes in the next cycle is behind all that are waiting by then
                m.d.sync += lower_first.eq(1)
            with m.Elif(~self.waiting[low]):
                m.d.sync += lower_first.eq(0)
            before[high].append(candidates[low] & lower_first)
            before[low].append(candidates[high] & ~lower_first)
        m.d.comb += self.first.eq(candidates & ~Cat(Cat(each).any() for each in before))
        return m


def selected(which: Signal, values: Sequence[Value]) -> Value:
    """The one of ``values`` whose bit is set in ``which``; zero if none is."""
    return reduce(or_, (Mux(which[each], value, 0) for each, value in enumerate(values)))
