"""EagerMerge: every chunk once, whole, with the selector of its input, and the one that waits for the longest time."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

import pytest
from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from cases import cases
from proving import refuted
from refuting import check, check_rule, proofs, some_or_all_mutants
from unit_bench import UnitBench, bare, control, equal, translated, words

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from hw.rules import unit, writing
from step.firing.declared import Declared
from step.firing.machine import Machine
from step.rules.eager_merge import EagerMerge

pytestmark = pytest.mark.large

AGES = 3
"""Cycles of waiting that the bench tells apart; the longer ones are alike for it."""

READER = [
    ("(mask[:each].any() & mask[each] for", "(mask[:each].all() & mask[each] for"),
    ("order.waiting.eq(waiting)", "order.waiting.eq(among)"),
    ("order.among.eq(among)", "order.among.eq(waiting)"),
    ("selected(mask, parts)", "parts[0]"),
]
"""Mutants of what reads the rule."""

UNCHANGED = {"2:14 0 if self.idle else self.passing -> self.passing": "nothing passes while nothing is chosen"}


class Merged(UnitBench):
    patience = 1  # to choose what is next

    def check(self, m: Module, unit: Unit) -> None:
        (put, select), (sent, which) = self.puts, self.sent
        rank, taken, done = self.given["rank"], Cat(*self.takes), Signal()
        inside, port = Signal(), Signal(len(self.takes))  # a chunk has begun, and of which input
        m.d.comb += [
            done.eq(Cat(take & front.done for take, front in zip(self.takes, self.fronts, strict=True)).any()),
            Assert(put == taken.any()),
            Assert(~put | (select == ~inside)),
            Assert(~select | put),
            Assert(~(put & done) | (taken.all() & ~inside & sent.done & which.done)),
            Assert(~(put & done) | Cat(front.done for front in self.fronts).all()),
            Assert(~(put & ~done) | ((taken & (taken - 1)) == 0)),
            Assert(~(put & ~done & inside) | (taken == port)),
            Assert(~(select & ~done) | (which.value & ~which.done & (which.control == taken))),
            Assert(~select | ((which.stop == 0) & (which.rank == 0))),
            Assert(unit.fault == 0),
        ]
        for front, take in zip(self.fronts, self.takes, strict=True):
            m.d.comb += Assert(~take | equal(sent, front))
            with m.If(take):
                m.d.sync += [inside.eq(~front.done & (front.stop < rank)), port.eq(taken)]
        over = Signal()
        m.d.sync += over.eq(over | (put & done))
        m.d.comb += Assert(unit.finished == over)
        self._order(m, put & ~done & ~inside)
        if self.rule.outputs[0].word_bits:
            self.expects[0] = reduce(
                or_, (Mux(take, each, 0) for take, each in zip(self.takes, self.words, strict=True))
            )

    def _order(self, m: Module, begins: Any) -> None:
        """A chunk that begins is the oldest one, then that of the lowest input."""
        ages = [Signal(range(AGES + 1), name=f"age{each}") for each in range(len(self.takes))]
        for each, age in enumerate(ages):
            grown = Mux(age == AGES, AGES, age + 1)
            m.d.sync += age.eq(Mux(self.visible[each] & ~self.takes[each], grown, 0))
        for low in range(len(self.takes)):
            for high in range(low + 1, len(self.takes)):
                waits = [self.visible[each] & ~self.fronts[each].done for each in (low, high)]
                older = waits[1] & (ages[high] > ages[low])
                alike = waits[0] & (ages[low] >= ages[high]) & (ages[high] < AGES)
                m.d.comb += Assert(~(begins & self.takes[low] & older))
                m.d.comb += Assert(~(begins & self.takes[high] & alike))


def merged(machine: type[Machine], data: TokenFormat, count: int) -> Merged:
    return Merged(translated(machine, [data] * count, [data, control(0, count)], rank=data.rank))


@cases((words(1, 2), 2), (words(0, 1), 3), (control(2), 2), (bare(1), 1))
def test_chunks_are_merged(data: TokenFormat, count: int) -> None:
    assert refuted({"": merged(EagerMerge, data, count)}) == {}


@some_or_all_mutants
def test_mutants(thorough: bool) -> None:
    check_rule(EagerMerge, lambda each: merged(each, words(1, 2), 2), UNCHANGED, thorough=thorough)


@proofs(("mutants",), [(READER,)])
def test_oldest_of_three(mutants: list[tuple[str, str]]) -> None:
    def bench(module: Any) -> Merged:
        token = words(0, 1)
        return Merged(module.Translated.of(Declared(EagerMerge, {"rank": 0}), (token,) * 3, (token, control(0, 3))))

    check(unit, bench, mutants, [writing])
