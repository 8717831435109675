"""A delay line: what goes in comes out a fixed number of cycles later."""

from __future__ import annotations

from functools import cache
from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.verilog.modules import Parametric


class DelayLine(Parametric):
    """``o`` is ``i`` of ``cycles`` (>= 1) before, ``word_bits`` wide; zero where that is before the reset.

    A ring in a memory, whose places are read in the cycle in which they are overwritten, and a register behind it.
    """

    def __init__(self, word_bits: int, cycles: int) -> None:
        self._width, self._cycles = word_bits, cycles
        super().__init__({"i": In(word_bits), "o": Out(word_bits)})

    @property
    def generic(self) -> DelayLine:
        return _generic(min(self._cycles, 4))

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        if self._cycles == 1:
            m.d.sync += self.o.eq(self.i)
            return m
        places = self._cycles - 1
        m.submodules.ring = ring = Memory(shape=self._width, depth=places, init=[])
        write = ring.write_port()
        read = ring.read_port()
        place = Signal(range(places))
        last = Signal()
        # whether the place was written since the reset, and whether what was read
        written = Signal()
        known = Signal()
        m.d.comb += [last.eq(place == places - 1), self.o.eq(Mux(known, read.data, 0))]
        m.d.comb += [write.addr.eq(place), write.data.eq(self.i), write.en.eq(1), read.addr.eq(place), read.en.eq(1)]
        m.d.sync += [place.eq(Mux(last, 0, place + 1)), written.eq(written | last), known.eq(written)]
        return m


@cache
def _generic(cycles: int) -> DelayLine:
    """The lines of ``cycles``; 4 are for all from there on: a ring of two places has no comparison, less no ring."""
    if cycles < 4:
        return DelayLine(100, cycles).as_generic(["word_bits"], ["WORD_BITS - 1"])
    numbers = "WORD_BITS - 1", "CYCLES - 2", "$clog2(CYCLES - 1) - 1", "$clog2(CYCLES - 1)"
    return DelayLine(100, 1000).as_generic(["word_bits", "cycles"], numbers)
