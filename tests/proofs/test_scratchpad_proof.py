"""Scratchpads: what is read of a buffer is what was put there, and pages are there for whoever needs them."""

from __future__ import annotations

import pytest
from amaranth.hdl import Assert, Const, Module, Signal, Value
from refuting import check, proofs
from shares_bench import Pages

from hw.memory import scratchpad, share
from step.lowering.memory import IN_FLIGHT

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


@proofs(("count", "mutants"), [(1, SUPPLY), pytest.param(2, SEVERAL, marks=pytest.mark.slow)])
def test_pages_are_supplied(count: int, mutants: list[tuple[str, str]]) -> None:
    check(scratchpad, lambda module: Supplied(count, 2, 0, supply=module), mutants)


@proofs(("mutants",), [(RINGS,)])
def test_shares_know_their_pages(mutants: list[tuple[str, str]]) -> None:
    check(share, lambda module: Supplied(1, 2, 0, ring=module), mutants)


@proofs(("mutants",), [(PLACES,)])
def test_what_was_put_in_is_there(mutants: list[tuple[str, str]]) -> None:
    check(share, lambda module: Kept(1, 2, 1, ring=module), mutants)
