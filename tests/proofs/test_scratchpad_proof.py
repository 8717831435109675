"""Scratchpads: pages are there for whoever needs them."""

from __future__ import annotations

import pytest
from amaranth.hdl import Assert, Const, Module, Value
from refuting import check, proofs
from shares_bench import Pages

from hw.memory import scratchpad, share
from step.lowering.memory import IN_FLIGHT

pytestmark = pytest.mark.large

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


@proofs(("count", "mutants"), [(1, SUPPLY), pytest.param(2, SEVERAL, marks=pytest.mark.slow)])
def test_pages_are_supplied(count: int, mutants: list[tuple[str, str]]) -> None:
    check(scratchpad, lambda module: Supplied(count, 2, supply=module), mutants)


@proofs(("mutants",), [(RINGS,)])
def test_shares_know_their_pages(mutants: list[tuple[str, str]]) -> None:
    check(share, lambda module: Supplied(1, 2, ring=module), mutants)
