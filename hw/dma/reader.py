"""Reader: memory from its base on, as words."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.links.channel import count, place
from hw.primitives.memories import Ram
from hw.primitives.timing import counts
from hw.verilog.modules import Parametric
from hw.verilog.structure import MEMORY_RESET
from step.lowering.dma import MOST_REQUESTS, REQUEST

SHALLOW = 32
"""Beats that lie in LUT RAM; more lie in block RAM."""


class BeatReader(Parametric):
    """Words of ``word_bytes`` out of beats of ``beat_bytes``, which are asked for ahead; both are powers of two.

    ``depth``: beats that are asked for before they are used, a power of two. ``limit``: requests in all, which may
    grow. ``word`` is there while ``valid``, until ``pop``; with ``skip`` the next one is the first of the next beat.
    ``ended``: all that was asked for is popped, and there is no more, by the ``limit`` of the cycle before.

    A request on offer stays through a reset until it is taken. A reset lasts until memory owes no answer, as that of a
    fabric behind masters does (`hw.axi.control.MasterControl`). ``memory_rst`` takes back what is on offer, too.
    """

    verilog_name = "Reader"

    def __init__(self, beat_bytes: int, word_bytes: int, depth: int) -> None:
        self._beat, self._word, self._depth = beat_bytes, word_bytes, depth
        response = wiring.Signature({"payload": Out(8 * beat_bytes), "valid": Out(1)})
        words = {"word": Out(8 * word_bytes), "valid": Out(1), "pop": In(1), "skip": In(1), "ended": Out(1)}
        memory = {"request": Out(stream.Signature(32)), "response": In(response), MEMORY_RESET: In(1)}
        super().__init__({"limit": In(MOST_REQUESTS.bit_length()), **words, **memory})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        bits = (REQUEST - 1).bit_length()
        asks = Signal()
        pop = Signal()
        more = Signal()
        asked = Signal(len(self.limit), reset_less=True)  # requests that are taken
        offers = Signal(reset_less=True)
        reserved = count(m, "reserved", self._depth, up=asks, down=pop, by=REQUEST)
        takes = offers & self.request.ready
        m.d.comb += [
            asks.eq(more & (reserved <= self._depth - REQUEST) & ~ResetSignal()),
            self.request.valid.eq(offers),
            self.request.payload.eq(asked << bits),
            self.ended.eq(~more & (reserved == 0)),
        ]
        m.d.sync += more.eq((asked < self.limit) & ~offers & ~asks)  # the comparison takes a cycle
        with m.If(getattr(self, MEMORY_RESET) | (ResetSignal() & (~offers | takes))):
            m.d.sync += [asked.eq(0), offers.eq(0)]
        with m.Elif(asks | takes):
            m.d.sync += [asked.eq(asked + takes), offers.eq(asks)]
        self._cut(m, *self._keep(m, pop), pop)
        return m

    def _keep(self, m: Module, pop: Value) -> tuple[Value, Value]:
        """Keep what comes until ``pop``; the oldest beat, and whether there is one."""
        depth, deep, comes = self._depth, self._depth > SHALLOW, self.response.valid
        beats = Ram(m, "beats", 8 * self._beat, depth, deep=deep)
        beats.write(comes, place(m, "into", depth, comes), self.response.payload)
        out = place(m, "out", depth, pop)
        if not deep:
            return beats.read(out), count(m, "held", depth, up=comes, down=pop) != 0
        following = Signal(range(depth))
        came = Signal()
        m.d.comb += following.eq(out + pop)
        m.d.sync += came.eq(comes)
        return beats.read(following), count(m, "held", depth, up=came, down=pop) != 0

    def _cut(self, m: Module, front: Value, present: Value, pop: Signal) -> None:
        """Words that are a part of a beat, or several."""
        parts, together = self._beat // self._word, self._word // self._beat
        if together > 1:
            part = Signal(range(together))
            before = Signal(8 * (self._word - self._beat))
            whole = part == together - 1
            word: Value = Cat(before, front)
            m.d.comb += [self.valid.eq(present & whole), pop.eq(Mux(whole, self.pop, present))]
            with m.If(pop):
                m.d.sync += [part.eq(part + 1), before.eq(word[8 * self._beat :])]
        else:
            at = Signal(range(parts))
            word = front.word_select(at, 8 * self._word)
            m.d.comb += [self.valid.eq(present), pop.eq(self.pop & (self.skip | (at == parts - 1)))]
            counts(m, at, self.pop, self.skip)
        m.d.comb += self.word.eq(word)
