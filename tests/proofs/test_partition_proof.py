"""Partition: a chunk goes where its selector says, whole and once, and ends with the stop of a chunk."""

from __future__ import annotations

import pytest
from amaranth.hdl import Assert, Cat, Module, Mux
from refuting import check
from unit_bench import UnitBench, bare, control, equal, words

from hw.layout import TokenFormat
from hw.unit import Unit
from hw.units import partition

MUTANTS = [
    ("stop=Mux(ends, self.rank, data.stop)", "stop=data.stop[:1]"),
    ("with m.If(selector.control[port]):", "with m.If(selector.control[port] & ~selector.control[1 - port]):"),
    ("        with m.If(ends):\n            firing.take(SELECTOR)", "        firing.take(SELECTOR)"),
    ("(data.rank > self.rank) | (ends", "(data.rank < 0) | (ends"),
    ("firing.occupy(when=selector.value & data.value & selector.control.any())", "firing.occupy(when=data.stop)"),
    ("rank = data.rank[: self.chunks[0].stop_bits]", "rank = 0 * data.rank[: self.chunks[0].stop_bits]"),
]


class Routed(UnitBench):
    def check(self, m: Module, unit: Unit) -> None:
        (data, selector), (take, next_selector), chunk = self.fronts, self.takes, self.rule.rank
        ends = data.stop >= chunk
        routed = ~data.done & (data.rank <= chunk) & (~ends | (data.stop == selector.stop + chunk))
        outside = (data.rank == selector.rank + chunk) & (data.stop == selector.stop + chunk)
        good = Mux(selector.value, routed, Mux(selector.done, data.done, ~data.done & outside))
        m.d.comb += [
            Assert(~take | (Cat(*self.visible).all() & good)),
            Assert(next_selector == (take & (~selector.value | ends))),
            Assert((unit.fault == 0) | (Cat(*self.visible).all() & ~good)),
        ]
        for port, (put, sent) in enumerate(zip(self.puts, self.sent, strict=True)):
            m.d.comb += Assert(put == (take & Mux(selector.value, selector.control[port], selector.done)))
            m.d.comb += Assert(~put | equal(sent, data, stop=Mux(ends, Mux(data.done, 0, chunk), data.stop)))
            self.expects[port] = self.words[0]


@pytest.mark.parametrize(
    ("data", "rank", "mutants"),
    [(words(2, 2), 1, MUTANTS), (words(2, 1), 1, []), (words(1, 2), 0, []), (control(2), 1, []), (bare(2), 1, [])],
)
def test_chunks_go_where_they_should(data: TokenFormat, rank: int, mutants: list[tuple[str, str]]) -> None:
    selector = control(data.rank - rank, 2)
    chunks = (TokenFormat(rank, data.items, data.link_bits, data.control),) * 2
    check(partition, lambda module: Routed(module.Partition(data, selector, chunks, rank)), mutants)
