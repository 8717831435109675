"""Expand: copies as often as the count or the reference says, the stop with the last one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from proving import refuted
from refuting import check_rule, some_or_all_mutants
from unit_bench import UnitBench, bare, control, equal, translated, words

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from step.firing.machine import Machine
from step.rules.expand import Follow, Repeat

pytestmark = pytest.mark.large


class Repeated(UnitBench):
    def check(self, m: Module, unit: Unit) -> None:
        (front,), (take,), (put,), (sent,) = self.fronts, self.takes, self.puts, self.sent
        done = Signal(range(self.given["count"]))  # copies of the value in front that went out
        last = ~front.value | (done == self.given["count"] - 1)
        with m.If(put):
            m.d.sync += done.eq(Mux(last, 0, done + 1))
        m.d.comb += [
            Assert(~put | self.visible[0]),
            Assert(~put | equal(sent, front, stop=Mux(last, front.stop, 0))),
            Assert(take == (put & last)),
            Assert(unit.fault == 0),
        ]
        self.expects[0] = self.words[0]


class Following(UnitBench):
    def check(self, m: Module, unit: Unit) -> None:
        (data, reference), (put,), (sent,) = self.fronts, self.puts, self.sent
        last = reference.done | (reference.stop >= self.given["rank"])
        outside = Mux(reference.rank > self.given["rank"], reference.rank, 0)
        agree = (reference.done == data.done) & (outside == data.rank) & (~last | (reference.stop == data.stop))
        value = {each: data[each] for each in ("control", "rows") if each in data.shape().members}
        m.d.comb += [
            Assert(~put | (Cat(*self.visible).all() & agree)),
            Assert(~put | equal(sent, reference, **value)),
            Assert(put == self.takes[1]),
            Assert(self.takes[0] == (put & last)),
            Assert((unit.fault == 0) | (Cat(*self.visible).all() & ~agree)),
        ]
        self.expects[0] = self.words[0]


def repeated(machine: type[Machine], token: TokenFormat) -> Repeated:
    return Repeated(translated(machine, [token], [token], count=3))


def following(machine: type[Machine], data: TokenFormat, rank: int) -> Following:
    return Following(translated(machine, [data, bare(2)], [replace(data, rank=2)], rank=rank))


@pytest.mark.parametrize("token", [words(2, 1), control(1, 2), bare(1)])
def test_counted_copies(token: TokenFormat) -> None:
    assert refuted({"": repeated(Repeat, token)}) == {}


@pytest.mark.parametrize(("data", "rank"), [(words(2, 2), 2), (words(2, 1), 1), (control(2), 1)])
def test_copies_after_a_reference(data: TokenFormat, rank: int) -> None:
    assert refuted({"": following(Follow, data, rank)}) == {}


@some_or_all_mutants
def test_mutants_of_counting(thorough: bool) -> None:
    check_rule(Repeat, lambda each: repeated(each, words(1, 2)), thorough=thorough)


@some_or_all_mutants
def test_mutants_of_following(thorough: bool) -> None:
    check_rule(Follow, lambda each: following(each, words(2, 2), 1), thorough=thorough)
