"""Shares of a scratchpad leave each other's words alone: a page is one share's, from when it is taken till it is left.

`Supply` says so of any shares, which leave any number of pages at any time. `Table` says of one share that a token is
all the time in a page that it has, and found there as it was, whichever pages it gets. What is done with a place in a
page that nobody else has is the matter of banks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import combinations
from operator import add
from typing import Any
from unittest.mock import patch

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal, Value
from mutants import mutant
from proving import Bench
from refuting import check, proofs
from shares_bench import Side

from hw.memory import scratchpad, share
from hw.memory.share import FillerSignature, ReaderSignature, ShareFormat
from step.lowering.memory import IN_FLIGHT

pytestmark = pytest.mark.large

ANY_END = mutant(share, "m.d.comb += end.eq(Mux(odd, self.ends[1], self.ends[0]))", "self.end = end")
"""Shares whose buffers end anywhere."""

SUPPLY = [
    ("m.d.sync += fresh.eq(fresh + taken)", "m.d.sync += fresh.eq(fresh)"),
    ("m.d.sync += ring.reuse.eq(ring.reuse + taken)", "pass"),
    ("with m.If(~is_fresh & ring.free & ~before):", "with m.If(~is_fresh & ring.free):"),
    ("with m.If(~is_fresh & ring.free & ~before):", "with m.If(ring.free & ~before):"),
    ("return [there & ~Cat(takes[:at]).any() for", "return [there for"),
    ("there = is_fresh | Cat([ring.free for ring in rings]).any()", "there = Const(1)"),
]
TABLE = [
    ("table.data.eq(self.next_page)", "table.data.eq(self._page)"),
    ("table.addr.eq(self._tail)", "table.addr.eq(self._tail + 1)"),
    ("following >> share.shift", "place >> share.shift"),
    ("[self.begin.eq(end), odd.eq(~odd)]", "[self.begin.eq(end)]"),
    ("return Mux(self.new, self.next_page, self._page)", "return self.next_page"),
    ("page.eq(Mux(self.new, self._tail, self._tail - 1))", "page.eq(self._tail)"),
    ("last_slot = filler.entry.last |", "last_slot ="),
    ("Mux(reader.move, first + reader.at, place)", "Mux(reader.move, reader.at, place)"),
    (
        "entry.addr.eq(Cat(self._slot[: share.shift], page))",
        "entry.addr.eq(self._slot)",
    ),
]


def within(place: Any, first: Value, behind: Value) -> Value:
    """Whether ``place`` in a ring is from ``first`` on, and in front of ``behind``."""
    bits = len(first)
    inside: Value = (place - first)[:bits] < (behind - first)[:bits]
    return inside


class Supply(Bench):
    """No page is taken that anybody has.

    Said besides, as the invariant: all pages in the tables of the shares, taken or free again, differ, and are the
    first ones.
    """

    def __init__(self, count: int, pages: int, module: Any) -> None:
        super().__init__()
        format = ShareFormat(0, 0, 0, 1, pages)
        self.pages, self.module = pages, module
        self.scratchpad = module.ScratchpadMemory([format] * count, 1, 1, 1024)
        self.rings: list[Any] = []
        self.wants, self.lasts, self.leaves = (
            [self.input(f"{name}{at}") for at in range(count)] for name in ("wants", "last", "leaves")
        )
        self.ends = [self.input(f"ends{at}", format.page_bits) for at in range(count)]

    def _ring(self, *given: Any) -> Any:
        self.rings.append(ANY_END.Ring(*given))
        return self.rings[-1]

    def build(self, m: Module) -> None:
        with patch.object(self.module, "Ring", self._ring):
            m.submodules.scratchpad = self.scratchpad.elaborate(None)
        for at, (ring, end) in enumerate(zip(self.rings, self.ends, strict=True)):
            filler, reader = ring.filler, ring.reader
            m.d.comb += [filler.store.eq(self.wants[at] & filler.space), filler.entry.last.eq(self.lasts[at])]
            m.d.comb += [reader.leave.eq(self.leaves[at]), ring.end.eq(end)]
            m.d.comb += Assume(~reader.leave | (end == ring._tail) | within(end, ring.begin, ring._tail))
        listed = [each for ring in self.rings for each in self._pages(m, ring, ring.reuse)]
        held = [each for ring in self.rings for each in self._pages(m, ring, ring.begin)]
        total = Signal(range(len(self.rings) << len(self.ends[0])))
        m.d.comb += total.eq(reduce(add, ((ring._tail - ring.reuse)[: len(ring.begin)] for ring in self.rings)))
        next_page = self.rings[0].next_page
        for ring in self.rings:
            m.d.comb += [Assert(~(ring.filler.store & ring.new & has) | (page != next_page)) for has, page in held]
        m.d.comb += [Assert(total <= self.pages), Assert((total == self.pages) | (next_page == total))]
        m.d.comb += [Assert(~has | (page < total)) for has, page in listed]
        for (has, page), (also, other) in combinations(listed, 2):
            m.d.comb += Assert(~(has & also) | (page != other))

    def _pages(self, m: Module, ring: Any, first: Value) -> Iterator[tuple[Value, Value]]:
        """The places of the table of ``ring``: whether they are from ``first`` on, and their pages."""
        for place in range(1 << len(first)):
            port = ring._table.read_port(domain="comb")
            m.d.comb += port.addr.eq(place)
            yield within(place, first, ring._tail), port.data


class Table(Bench):
    """A share that gets any pages. ``mark`` chooses a token."""

    def __init__(self, pages: int, slots: int, module: Any) -> None:
        super().__init__()
        self.format, self.module = ShareFormat(0, 0, 0, slots, pages), module
        self.side, self.next_page = Side("share", self.format), self.input("next_page", range(max(2, pages)))
        self.mark = self.input("mark")
        self.given |= {each.name: each for each in self.side.given}

    def build(self, m: Module) -> None:
        filler, reader = FillerSignature(self.format).create(), ReaderSignature(self.format).create()
        ring, side = self.module.Ring(m, "share", self.format, filler, reader, 1024), self.side
        m.d.comb += [ring.next_page.eq(self.next_page), reader.space.eq(1)]
        m.d.comb += filler.space.eq(ring.may_begin & (~ring.new | (ring.taken != self.format.pages)))
        side.connect(m, filler, reader)

        followed, ahead = Signal(), Signal(range(IN_FLIGHT + 1))  # buffers in front of its own
        place, slot, page = Signal(side.at.shape()), Signal(max(1, self.format.shift)), Signal(ring.next_page.shape())
        listed, value, last = Signal(ring.begin.shape()), Signal(), Signal()
        with m.If(self.mark & side.stores & ~followed):
            m.d.sync += [followed.eq(1), ahead.eq(side.filled - side.leaves), place.eq(side.filling)]
            m.d.sync += [slot.eq(ring.fill_slot), page.eq(ring.fill_page), value.eq(side.value), last.eq(side.last)]
            m.d.sync += listed.eq(Mux(side.begins_page, ring._tail, ring._tail - 1))
        with m.Elif(followed & side.leaves):
            m.d.sync += [ahead.eq(ahead - 1), followed.eq(ahead != 0)]
        table = ring._table.read_port(domain="comb")
        here = followed & (ahead == 0) & side.may_read & (side.at == place)
        m.d.comb += [
            table.addr.eq(listed),
            Assert(~followed | ((table.data == page) & within(listed, ring.begin, ring._tail))),
            Assert(~here | ((ring.read_page == page) & (ring.read_slot == slot[: self.format.shift]))),
            Assert(~here | ((reader.entry.value == value) & (reader.entry.last == last))),
            Assert(ring.taken == side.pages),
        ]


@proofs(("mutants",), [(SUPPLY,)])
def test_no_page_is_taken_that_another_share_has(mutants: list[tuple[str, str]]) -> None:
    check(scratchpad, lambda module: Supply(2, 2, module), mutants)


@proofs(("pages", "slots", "mutants"), [(1, 2, TABLE[4:]), (2, 1, TABLE[:4])])
def test_a_share_has_the_page_of_a_token(pages: int, slots: int, mutants: list[tuple[str, str]]) -> None:
    check(share, lambda module: Table(pages, slots, module), mutants)
