"""Until: tensors pass whole and in order until a selector selects nothing; then Done, and nothing more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from amaranth.hdl import Assert, Module, Mux, Signal
from proving import refuted
from refuting import check_rule, some_or_all_mutants
from unit_bench import UnitBench, bare, control, equal, translated, words

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from step.firing.machine import Machine
from step.language.faults import Fault
from step.rules.until import Until

pytestmark = pytest.mark.large


class EndsWhereItIsSaid(UnitBench):
    def check(self, m: Module, unit: Unit) -> None:
        (data, selector), (take, next_selector), (put,), (sent,) = self.fronts, self.takes, self.puts, self.sent
        asked, ended = Signal(), Signal()  # a selector is owed; Done went out
        data_over, selectors_over = self.overs
        whole = data.stop >= self.given["rank"]
        stops = next_selector & ~ended & selector.value & ~selector.control[0]
        with m.If(take & ~selectors_over):
            m.d.sync += asked.eq(whole | data.done)
        with m.If(next_selector & ~data_over):
            m.d.sync += asked.eq(0)
        with m.If(put & sent.done):
            m.d.sync += ended.eq(1)
        early = asked & ~ended & selector.done & self.visible[1]
        m.d.comb += [
            Assert(~take | self.visible[0] & ~asked),
            Assert(~next_selector | self.visible[1] & asked & ~early),
            Assert(put == ((take & ~ended) | stops)),
            Assert(~put | Mux(stops, sent.done & ~sent.value & (sent.stop == 0) & (sent.rank == 0), equal(sent, data))),
            Assert((unit.fault == 0) | (early & (unit.fault == Fault.MISSING_DATA))),
        ]
        self.expects[0] = self.words[0]


def ending(machine: type[Machine], data: TokenFormat) -> EndsWhereItIsSaid:
    return EndsWhereItIsSaid(translated(machine, [data, control(0)], [replace(data)], rank=data.rank))


@pytest.mark.parametrize("data", [words(1, 2), words(0, 1), control(1, 2), bare(2)])
def test_it_ends_where_a_selector_says(data: TokenFormat) -> None:
    assert refuted({"": ending(Until, data)}) == {}


UNCHANGED = {
    "10:12 self.asks = False -> pass": "it waits for selectors behind their end: nothing wrong happens, or at all"
}


@some_or_all_mutants
def test_mutants(thorough: bool) -> None:
    check_rule(Until, lambda each: ending(each, words(1, 2)), UNCHANGED, thorough=thorough)
