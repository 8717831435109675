"""Reassemble: a chunk from every input that the selector names, whole, once, and in the right order."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any

import pytest
from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from cases import cases
from proving import refuted
from refuting import Mutants, check, check_rule, proofs, some_or_all_mutants
from unit_bench import UnitBench, bare, control, equal, translated, words

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from hw.rules import unit, writing
from step.firing.declared import Declared
from step.firing.machine import Machine
from step.rules.reassemble import Reassemble

pytestmark = pytest.mark.large

AGES = 3
"""Cycles of waiting that the bench tells apart; the longer ones are alike for it."""

READER = [
    ("order.waiting.eq(waiting)", "order.waiting.eq(among)"),
    ("order.among.eq(among)", "order.among.eq(waiting)"),
]
"""Mutants of what reads the rule."""

UNCHANGED: dict[str, str] = {}


class Gathered(UnitBench):
    patience = 1  # to choose what is next

    def check(self, m: Module, unit: Unit) -> None:
        (*fronts, selector), (*takes, select), (put,), (sent,) = self.fronts, self.takes, self.puts, self.sent
        count, rank = len(fronts), self.given["rank"]
        closed = Signal()  # Done was put
        current, active, left = Signal(selector.shape()), Signal(), Signal(count)  # the selector, chunks to come
        inside, port = Signal(), Signal(range(count))  # the input whose chunk has begun
        taken, chunk = Cat(*takes), Signal()
        ends, last, finishes = Signal(), Signal(), Signal()  # a chunk ends; the selector's last one; the selector
        empty = put & ~taken.any()
        end = current.stop + rank + 1
        m.d.comb += [
            chunk.eq(taken.any() & ~current.done),
            Assert(~put | active),
            Assert(put == (empty | chunk)),
            Assert(~select | ~active | finishes),
            Assert(~closed | ~Cat(self.visible[:-1]).all() | taken.all() | (unit.fault != 0)),
            Assert(~chunk | ((taken & (taken - 1)) == 0)),
            Assert(~(taken.any() & current.done) | (taken.all() & closed)),
            Assert(
                ~(empty & ~current.done)
                | (equal(sent, current, value=0, stop=end, rank=current.rank + rank + 1, control=0, rows=0))
            ),
            Assert(~(empty & current.done) | (equal(sent, current, value=0, control=0, rows=0) & ~closed)),
            Assert(~empty | ((left == 0) & ~inside)),
        ]
        for each, (front, take) in enumerate(zip(fronts, takes, strict=True)):
            with m.If(take & ~current.done):
                m.d.comb += [ends.eq(front.stop >= rank), last.eq(ends & ((left & ~(1 << each)) == 0))]
                m.d.comb += [Assert(left[each]), Assert(~inside | (port == each)), Assert(~front.done)]
                m.d.comb += Assert(equal(sent, front, stop=Mux(last, end, front.stop)))
                m.d.sync += [inside.eq(~ends), port.eq(each)]
                with m.If(ends):
                    m.d.sync += left[each].eq(0)
            with m.If(take & current.done):
                m.d.comb += Assert(front.done)
        m.d.comb += finishes.eq(Mux(chunk, last, put & ~current.done))
        m.d.sync += closed.eq(closed | (put & active & current.done))
        with m.If(select):
            m.d.sync += [active.eq(1), current.eq(selector), left.eq(Mux(selector.value, selector.control, 0))]
        with m.Elif(finishes):
            m.d.sync += active.eq(0)
        broken = Cat(visible & front.done for visible, front in zip(self.visible, fronts, strict=False)).any()
        over = current.done & Cat(~front.done for front in fronts).any()
        m.d.comb += Assert((unit.fault == 0) | (active & (broken | over)))
        self._order(m, takes, left, chunk & ~inside)
        self.expects[0] = reduce(or_, (Mux(take, each, 0) for take, each in zip(takes, self.words, strict=False)))

    def _order(self, m: Module, takes: list[Signal], left: Signal, begins: Any) -> None:
        """A chunk that begins is that of the right input of those ``left``."""
        ages = [Signal(range(AGES + 1), name=f"age{each}") for each in range(len(takes))]
        for each, age in enumerate(ages):
            grown = Mux(age == AGES, AGES, age + 1)
            m.d.sync += age.eq(Mux(self.visible[each] & ~takes[each], grown, 0))
        for low in range(len(takes)):
            for high in range(low + 1, len(takes)):
                both = left[low] & left[high] & begins
                older = self.visible[high] & (ages[high] > ages[low])
                alike = self.visible[low] & (ages[low] >= ages[high]) & (ages[high] < AGES)
                if self.given["by_arrival"]:
                    m.d.comb += [Assert(~(both & takes[low] & older)), Assert(~(both & takes[high] & alike))]
                else:
                    m.d.comb += Assert(~(both & takes[high]))


def gathered(machine: type[Machine], data: TokenFormat, selector: TokenFormat, by_arrival: bool) -> Gathered:
    streams = [*[data] * selector.bits, selector], [replace(data, rank=data.rank + 1 + selector.rank)]
    return Gathered(translated(machine, *streams, rank=data.rank, by_arrival=by_arrival))


@cases(
    (words(1, 2), control(1, 2), True),
    (words(1, 2), control(1, 2), False),
    (words(0, 1), control(1, 2), True),
    (words(0, 2), control(1, 2), False),
    (control(1), control(0, 2), True),
    (bare(1), control(0, 3), True),
)
def test_chunks_are_gathered(data: TokenFormat, selector: TokenFormat, by_arrival: bool) -> None:
    assert refuted({"": gathered(Reassemble, data, selector, by_arrival)}) == {}


@some_or_all_mutants
def test_mutants(thorough: bool) -> None:
    check_rule(Reassemble, lambda each: gathered(each, words(1, 2), control(1, 2), True), UNCHANGED, thorough=thorough)


@proofs(("by_arrival", "mutants"), [(True, READER), (False, [("(mask & -mask)[: len(mask)]", "mask")])])
def test_mutants_of_the_reader(by_arrival: bool, mutants: Mutants) -> None:
    def bench(module: Any) -> Gathered:
        token, selector = words(0, 1), control(0, 3)
        declared = Declared(Reassemble, {"rank": 0, "by_arrival": by_arrival})
        return Gathered(module.Translated.of(declared, (token, token, token, selector), (replace(token, rank=1),)))

    check(unit, bench, mutants, [writing])
