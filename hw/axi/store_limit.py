"""StoreLimit: a store of any number of tiles keeps to its region."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hw.primitives.timing import counts
from hw.verilog.modules import Parametric
from hw.verilog.structure import MEMORY_RESET
from step.language.faults import Fault


class StoreLimit(Parametric):
    """Between a store whose tiles follow each other, of ``beats`` of ``beat_bytes`` each, and its master.

    From the first tile on that does not end within ``limit`` bytes, nothing goes to the master: the store is emptied,
    so that it comes to its end, and there is a ``fault``. What a store offers in a reset, and on from there, is of the
    run before, up to the cycle in which it offers nothing; then it begins with its first tile.
    """

    def __init__(self, beats: int, beat_bytes: int) -> None:
        self._beats, self._beat_bytes = beats, beat_bytes
        beat = stream.Signature(32 + 8 * beat_bytes)
        super().__init__({"i": In(beat), "o": Out(beat), "limit": In(32), "fault": Out(4), MEMORY_RESET: In(1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        beats, limit = self._beats, self.limit[self._beat_bytes.bit_length() - 1 :]
        beat = Signal(range(beats), reset_less=True)
        end = Signal(len(limit) + 1, reset_less=True)  # place of the last beat of the next tile
        known, fits, old = (Signal(reset_less=True, name=name) for name in ("known", "fits", "old"))
        moves = Signal()
        last = Signal()
        m.d.comb += [
            self.o.payload.eq(self.i.payload),
            self.o.valid.eq(self.i.valid & known & fits),
            self.i.ready.eq(known & (self.o.ready | ~fits)),
            moves.eq(self.o.valid & self.o.ready),
            last.eq(beat == beats - 1),
        ]
        counts(m, beat, moves, last)
        with m.If(~known | (moves & last)):  # the comparison has a cycle of its own
            m.d.sync += [known.eq(1), fits.eq(end < limit), end.eq(end + beats)]
        with m.If(self.i.valid & known & ~fits & ~old):
            m.d.sync += self.fault.eq(Fault.REGION_FULL)
        m.d.sync += old.eq((old | ResetSignal()) & self.i.valid)
        with m.If(getattr(self, MEMORY_RESET) | ((old | ResetSignal()) & ~self.i.valid)):
            m.d.sync += [known.eq(0), old.eq(0), beat.eq(0), end.eq(beats - 1)]
        return m
