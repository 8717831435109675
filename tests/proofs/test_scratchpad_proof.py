"""Scratchpads: what is read of a buffer is what was put there, and pages are there for whoever needs them."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Assert, Assume, ClockDomain, Const, Elaboratable, Module, Mux, Signal, Value
from mutants import mutant
from refuting import check

from hw import scratchpad, share
from hw.share import ShareFormat
from step.lowering.scratchpads import IN_FLIGHT


class Side:
    """Who fills buffers of a share, and who reads them: as often and in any order, and in any rhythm.

    ``lengths`` are the tokens of the buffers that are there, the oldest one first; ``filled`` counts the complete ones,
    which the reader sees a cycle after the last token was stored.
    """

    def __init__(self, name: str, format: ShareFormat) -> None:
        most = format.pages * format.slots
        self.format = format
        self.wants, self.value, self.last = (Signal(name=f"{name}_{each}") for each in ("wants", "value", "last"))
        self.word = Signal(name=f"{name}_word")
        self.reads, self.moves, self.leaves = (Signal(name=f"{name}_{each}") for each in ("reads", "moves", "leaves"))
        self.to = Signal(range(most), name=f"{name}_to")
        self.lengths = [Signal(range(most + 1), name=f"{name}_length{each}") for each in range(IN_FLIGHT)]
        self.filled, self.seen = (Signal(range(IN_FLIGHT + 1), name=f"{name}_{each}") for each in ("filled", "seen"))
        self.at = Signal(range(most), name=f"{name}_at")
        self.stores = Signal(name=f"{name}_stores")
        self.may_read = Signal(name=f"{name}_may_read")

    @property
    def given(self) -> list[Value]:
        return [self.wants, self.value, self.last, self.word, self.reads, self.moves, self.leaves, self.to]

    @property
    def filling(self) -> Value:
        """Tokens of the buffer that is filled; zero where the next one begins another."""
        return Mux(self.filled == 0, self.lengths[0], Mux(self.filled == 1, self.lengths[1], 0))

    @property
    def begins_page(self) -> Value:
        return (self.filling & (self.format.slots - 1)) == 0

    @property
    def pages(self) -> Value:
        """That are its: of every buffer as many as its tokens need."""
        shift = self.format.slots.bit_length() - 1
        each = [(length + self.format.slots - 1) >> shift for length in self.lengths]
        return each[0] + each[1]

    def connect(self, m: Module, filler: Any, reader: Any) -> None:
        too_large = self.begins_page & (self.filling == self.format.pages * self.format.slots)
        m.d.comb += [
            self.stores.eq(self.wants & filler.space & ~filler.too_large),
            filler.value.eq(self.value),
            filler.store.eq(self.stores),
            filler.entry.value.eq(self.value),
            filler.entry.last.eq(self.last),
            Assert(filler.too_large == too_large),
        ]
        left = Signal()
        completes = self.stores & self.last
        m.d.comb += [
            self.may_read.eq(self.seen != 0),
            Assume(~(self.reads | self.moves | self.leaves) | self.may_read),
            Assume(~self.reads | (reader.entry.value & reader.space)),
            Assume(~self.moves | (self.to < self.lengths[0])),
            reader.read.eq(self.reads),
            reader.move.eq(self.moves | self.leaves),
            reader.at.eq(self.to),
            reader.leave.eq(self.leaves),
            left.eq(self.leaves),
        ]
        grown = [Mux(self.stores & (self.filled == each), old + 1, old) for each, old in enumerate(self.lengths)]
        m.d.sync += [
            self.lengths[0].eq(Mux(left, grown[1], grown[0])),
            self.lengths[1].eq(Mux(left, 0, grown[1])),
            self.filled.eq(self.filled + completes - left),
            self.seen.eq(self.filled - left),
            self.at.eq(Mux(left, 0, Mux(self.moves, self.to, self.at))),
        ]
        if self.format.word_bits:
            late = Signal()
            m.d.sync += late.eq(self.word)
            m.d.comb += filler.word.eq(late)  # the word comes behind its token


SUPPLY = [
    ("m.d.sync += fresh.eq(fresh + taken)", "m.d.sync += fresh.eq(fresh)"),
    ("m.d.sync += ring.reuse.eq(ring.reuse + taken)", "pass"),
]
SEVERAL = [("return [there & ~Cat(takes[:at]).any() for", "return [there for")]
RINGS = [
    ("Mux(filler.entry.last, 0, used + self.new)", "used + self.new"),
    ("(filler.store & ~opened) - self.reader.leave", "(filler.store & ~opened)"),
    ("m.d.sync += end.eq(page + 1)", "m.d.sync += end.eq(page)"),
    ("m.d.sync += self._tail.eq(self._tail + 1)", "m.d.sync += self._tail.eq(self._tail + 2)"),
]
PLACES = [
    ("Mux(reader.move, first + reader.at, place)", "Mux(reader.move, reader.at, place)"),
    ("[self.begin.eq(end), odd.eq(~odd)]", "[self.begin.eq(end)]"),
    ("following >> share.shift", "place >> share.shift"),
    ("table.data.eq(self.next_page)", "table.data.eq(self._page)"),
]


class Pages(Elaboratable):
    """A scratchpad of ``pages`` for ``count`` shares, with a token a page, and tiles of ``beats`` words."""

    def __init__(self, count: int, pages: int, beats: int, module: Any) -> None:
        formats = [ShareFormat(0, beats, beats, 1, pages, reads_first=at) for at in range(count)]
        self.pages, self.scratchpad = pages, module.Scratchpad(formats, 1, 1, 1024)
        self.sides = [Side(f"share{at}", each) for at, each in enumerate(formats)]
        self.clock = ClockDomain("sync", reset_less=True)
        self.mark = Signal()

    @property
    def ports(self) -> list[Value]:
        return [self.clock.clk, self.mark, *(each for side in self.sides for each in side.given)]

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.sync = self.clock
        m.submodules.scratchpad = pad = self.scratchpad
        for at, side in enumerate(self.sides):
            side.connect(m, getattr(pad, f"filler{at}"), getattr(pad, f"reader{at}"))
        self.check(m)
        return m

    def check(self, m: Module) -> None:
        raise NotImplementedError


class Supplied(Pages):
    """A share has the pages of its buffers; the others are for who asks first."""

    def check(self, m: Module) -> None:
        taken = sum((each.pages for each in self.sides), start=Const(0))
        gone: Value = Const(0)
        for at, side in enumerate(self.sides):
            page = ~side.begins_page | ((taken != self.pages) & ~gone)
            m.d.comb += [
                Assert(getattr(self.scratchpad, f"filler{at}").space == ((side.filled != IN_FLIGHT) & page)),
                Assert(getattr(self.scratchpad, f"taken{at}") == side.pages),
            ]
            gone = side.stores & side.begins_page


class Kept(Pages):
    """``mark`` chooses a token. Wherever the reader goes: where the token is, it is as it was put there."""

    def check(self, m: Module) -> None:
        (side,), reader = self.sides, self.scratchpad.reader0
        followed, ahead = Signal(), Signal(range(IN_FLIGHT + 1))  # buffers in front of its own
        place, value, last, word = Signal(side.at.shape()), Signal(), Signal(), Signal()
        with m.If(self.mark & side.stores & ~followed):
            m.d.sync += [followed.eq(1), ahead.eq(side.filled - side.leaves), place.eq(side.filling)]
            m.d.sync += [value.eq(side.value), last.eq(side.last), word.eq(side.word)]
        with m.Elif(followed & side.leaves):
            m.d.sync += [ahead.eq(ahead - 1), followed.eq(ahead != 0)]
        here, passes, kept = Signal(), Signal(), Signal()
        m.d.comb += here.eq(followed & (ahead == 0) & side.may_read & (side.at == place))
        m.d.comb += Assert(~here | ((reader.entry.value == value) & (reader.entry.last == last)))
        m.d.sync += [passes.eq(here & side.reads), kept.eq(word)]
        m.d.comb += Assert(~passes | (reader.word == kept))
        m.d.comb += Assert(self.scratchpad.taken0 == side.pages)  # with it the search is twice as fast


def with_rings(module: Any) -> Any:
    """Scratchpads whose shares are those of ``module``."""
    same = "class Scratchpad(Parametric):"
    changed = mutant(scratchpad, same, same)
    changed.Ring = module.Ring
    return changed


@pytest.mark.parametrize(("count", "mutants"), [(1, SUPPLY), pytest.param(2, SEVERAL, marks=pytest.mark.slow)])
def test_pages_are_supplied(count: int, mutants: list[tuple[str, str]]) -> None:
    check(scratchpad, lambda module: Supplied(count, 2, 0, module), mutants)


def test_shares_know_their_pages() -> None:
    check(share, lambda module: Supplied(1, 2, 0, with_rings(module)), RINGS)


def test_what_was_put_in_is_there() -> None:
    check(share, lambda module: Kept(1, 2, 1, with_rings(module)), PLACES)
