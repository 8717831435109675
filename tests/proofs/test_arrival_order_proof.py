"""Arrival order: the choice is one of those that wait, and nobody that waits longer is passed over."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Assert, Module, Mux, Signal
from proving import Bench
from refuting import check, proofs

from hw.firing import arrival_order

pytestmark = pytest.mark.large

AGES = 4
"""Cycles of waiting that the bench tells apart; the longer ones are alike for it."""

MUTANTS = [
    ("Signal(init=1, name", "Signal(name"),
    ("m.d.sync += lower_first.eq(1)", "m.d.sync += lower_first.eq(0)"),
    ("m.d.sync += lower_first.eq(0)", "m.d.sync += lower_first.eq(1)"),
    ("candidates[high] & ~lower_first", "candidates[high] & lower_first"),
    ("candidates.eq(self.waiting & self.among)", "candidates.eq(self.among)"),
    ("with m.If(~self.waiting[high]):", "with m.If(~self.waiting[high] & self.waiting[low]):"),
]


class Fair(Bench):
    def __init__(self, count: int, module: Any) -> None:
        super().__init__()
        self.count, self.order = count, module.ArrivalOrder(count)
        self.waiting, self.among = self.input("waiting", count), self.input("among", count)

    def build(self, m: Module) -> None:
        m.submodules.order = order = self.order
        m.d.comb += [order.waiting.eq(self.waiting), order.among.eq(self.among)]
        first, candidates = order.first, self.waiting & self.among
        m.d.comb += [Assert((first & ~candidates) == 0), Assert((first & (first - 1)) == 0)]
        m.d.comb += Assert(first.any() == candidates.any())
        ages = [Signal(range(AGES + 1), name=f"age{each}") for each in range(self.count)]
        for each, age in enumerate(ages):
            m.d.sync += age.eq(Mux(self.waiting[each], Mux(age == AGES, AGES, age + 1), 0))
        for chosen in range(self.count):
            for other in range(self.count):
                longer = ages[other] > ages[chosen]
                alike = (ages[other] == ages[chosen]) & (ages[chosen] < AGES) & (other < chosen)
                m.d.comb += Assert(~(first[chosen] & candidates[other] & (longer | alike)))


@proofs(("mutants",), [(MUTANTS,)])
def test_nobody_is_passed_over(mutants: list[tuple[str, str]]) -> None:
    check(arrival_order, lambda module: Fair(3, module), mutants)
