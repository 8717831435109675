"""What surrounds a scratchpad under proof: shares that are filled and read in any rhythm."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from amaranth.hdl import Assert, Assume, Module, Mux, Signal, Value
from proving import Bench

from hw.memory import scratchpad, share
from hw.memory.share import ShareFormat
from step.lowering.memory import IN_FLIGHT


class Side:
    """Who fills buffers of a share, and who reads them: as often and in any order, and in any rhythm.

    ``lengths`` are the tokens of the buffers that are there, the oldest one first; ``filled`` counts the complete ones,
    which the reader sees a cycle after the last token was stored.
    """

    def __init__(self, name: str, format: ShareFormat) -> None:
        most = format.pages * format.slots
        self.format = format
        self.wants, self.value, self.last = (Signal(name=f"{name}_{each}") for each in ("wants", "value", "last"))
        self.reads, self.moves, self.leaves = (Signal(name=f"{name}_{each}") for each in ("reads", "moves", "leaves"))
        self.to = Signal(range(most), name=f"{name}_to")
        self.lengths = [Signal(range(most + 1), name=f"{name}_length{each}") for each in range(IN_FLIGHT)]
        self.filled, self.seen = (Signal(range(IN_FLIGHT + 1), name=f"{name}_{each}") for each in ("filled", "seen"))
        self.at = Signal(range(most), name=f"{name}_at")
        self.stores = Signal(name=f"{name}_stores")
        self.may_read = Signal(name=f"{name}_may_read")

    @property
    def given(self) -> list[Signal]:
        return [self.wants, self.value, self.last, self.reads, self.moves, self.leaves, self.to]

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


class Pages(Bench):
    """A scratchpad of ``pages`` for ``count`` shares, with a token a page.

    ``supply`` and ``ring`` are the modules of which scratchpads and shares are made.
    """

    def __init__(self, count: int, pages: int, supply: Any = scratchpad, ring: Any = share) -> None:
        super().__init__()
        formats = [ShareFormat(0, 0, 0, 1, pages, reads_first=at) for at in range(count)]
        self.pages, self.supply, self.ring = pages, supply, ring
        self.scratchpad = supply.ScratchpadMemory(formats, 1, 1, 1024)
        self.sides = [Side(f"share{at}", each) for at, each in enumerate(formats)]
        self.rings: list[Any] = []
        self.mark = self.input("mark")
        self.given |= {each.name: each for side in self.sides for each in side.given}

    def build(self, m: Module) -> None:
        with patch.object(self.supply, "Ring", self._ring):
            m.submodules.scratchpad = self.scratchpad.elaborate(None)
        for at, side in enumerate(self.sides):
            side.connect(m, getattr(self.scratchpad, f"filler{at}"), getattr(self.scratchpad, f"reader{at}"))
        self.check(m)

    def _ring(self, *given: Any) -> Any:
        self.rings.append(self.ring.Ring(*given))
        return self.rings[-1]

    def check(self, m: Module) -> None:
        raise NotImplementedError
