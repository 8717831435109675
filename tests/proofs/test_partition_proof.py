"""Partition: a chunk goes where its selector says, whole and once, and ends with the stop of a chunk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from amaranth.hdl import Assert, Cat, Module, Mux
from cases import cases
from proving import refuted
from refuting import check, check_rule, proofs, some_or_all_mutants
from unit_bench import UnitBench, bare, control, dynamic, equal, translated, words

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from hw.rules import unit, writing
from step.firing.declared import Declared
from step.firing.machine import Machine
from step.language.faults import Fault
from step.rules.partition import Partition

pytestmark = pytest.mark.large


class Routed(UnitBench):
    def check(self, m: Module, unit: Unit) -> None:
        (data, selector), (take, next_selector), chunk = self.fronts, self.takes, self.given["rank"]
        ends = data.stop >= chunk
        routed = ~data.done & (data.rank <= chunk) & (~ends | (data.stop == selector.stop + chunk))
        outside = (data.rank == selector.rank + chunk) & (data.stop == selector.stop + chunk)
        good = Mux(selector.value, routed, Mux(selector.done, data.done, ~data.done & outside))
        leftover = Mux(selector.done, Fault.LEFTOVER_DATA, Fault.STOPS_DISAGREE)
        code = Mux(data.done & ~selector.done, Fault.MISSING_DATA, leftover)
        m.d.comb += [
            Assert(~take | (Cat(*self.visible).all() & good)),
            Assert(next_selector == (take & (~selector.value | ends))),
            Assert((unit.fault == 0) | (Cat(*self.visible).all() & ~good & (unit.fault == code))),
        ]
        for port, (put, sent) in enumerate(zip(self.puts, self.sent, strict=True)):
            m.d.comb += Assert(put == (take & Mux(selector.value, selector.control[port], selector.done)))
            m.d.comb += Assert(~put | equal(sent, data, stop=Mux(ends, Mux(data.done, 0, chunk), data.stop)))
            self.expects[port] = self.words[0]


LONG = "return largest(1, *(each.at(self._rows) for each in most), *waits)"
ROWS = [(LONG, "return largest(1, *(each.at(1) for each in most), *waits)"), (LONG, "return 1")]


def routed(machine: type[Machine], data: TokenFormat, rank: int) -> Routed:
    chunk = replace(data, rank=rank)
    return Routed(translated(machine, [data, control(data.rank - rank, 2)], [chunk] * 2, rank=rank))


@cases((words(2, 1), 1), (words(1, 2), 0), (control(2), 1), (bare(2), 1), (dynamic(1, 2), 1))
def test_chunks_go_where_they_should(data: TokenFormat, rank: int) -> None:
    assert refuted({"": routed(Partition, data, rank)}) == {}


@some_or_all_mutants
def test_mutants(thorough: bool) -> None:
    check_rule(Partition, lambda each: routed(each, words(2, 2), 1), thorough=thorough)


@proofs(("data", "rank", "mutants"), [(dynamic(2, 3), 1, ROWS)])
def test_chunks_of_dynamic_tiles(data: TokenFormat, rank: int, mutants: list[tuple[str, str]]) -> None:
    """The words of a tile leave before the next one's, as many as its rows say."""

    def bench(module: Any) -> Routed:
        streams = (data, control(data.rank - rank, 2)), (replace(data, rank=rank),) * 2
        return Routed(module.Translated.of(Declared(Partition, {"rank": rank}, 0), *streams))

    check(unit, bench, mutants, [writing])
