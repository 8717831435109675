"""Writer: words to memory, one after the other."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hw.links.channel import count, place
from hw.links.layout import WriteFormat
from hw.primitives.memories import Ram
from hw.primitives.timing import becomes, counts
from hw.verilog.modules import Parametric
from hw.verilog.structure import MEMORY_RESET
from step.lowering.dma import REQUEST


class Writer(Parametric):
    """Words of ``word_bytes`` to beats of ``beat_bytes``, from the request ``first`` on; both are powers of two.

    ``word`` goes with ``valid`` and ``ready``; with ``skip`` it also fills the rest of its beat. ``close``, after such
    a word and until ``closed``, fills the last request with zeros. ``empty``: memory has taken all; then ``rewind``
    goes on at request 0. Nothing is written from request ``limit`` on: ``full`` says that something should be.

    Only whole requests are offered: a master serves no other port amid one, and the rest of it may need what that
    other port writes. A beat on offer stays through a reset until it is taken; all else is forgotten, as the master
    writes the rest of a request without its bytes. ``memory_rst`` takes back what is on offer, too.
    """

    def __init__(self, beat_bytes: int, word_bytes: int, first: int = 0) -> None:
        self._beat, self._word, self._first = beat_bytes, word_bytes, first
        self._parts = max(1, beat_bytes // word_bytes)
        words = {"word": In(8 * word_bytes), "valid": In(1), "ready": Out(1), "skip": In(1)}
        ends = {"close": In(1), "closed": Out(1), "empty": Out(1), "rewind": In(1), "limit": In(32), "full": Out(1)}
        store = stream.Signature(WriteFormat(8 * beat_bytes).header)
        super().__init__({**words, **ends, "store": Out(store), MEMORY_RESET: In(1)})

    @property
    def _depth(self) -> int:
        """Beats that there is room for: a request leaves while the next one comes, faster where beats come faster."""
        return REQUEST if self._parts > 1 else 2 * REQUEST

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        store, depth, bits = self.store, self._depth, (REQUEST - 1).bit_length()
        push = Signal()
        leaves = Signal()
        pads = Signal()
        fits = Signal()
        into = place(m, "into", depth, push, reset_less=True)
        out = place(m, "out", depth, leaves, reset_less=True)
        held = count(m, "held", depth, up=push, down=leaves, reset_less=True)
        request = Signal(32 - bits, reset_less=True, init=self._first)
        sent, space = out[:bits], held != depth
        written = self._gather(m, into, space, pads)
        m.d.comb += [
            fits.eq(request < self.limit),
            store.valid.eq((sent != 0) | ((held >= REQUEST) & fits)),
            store.payload.address.eq(Cat(sent, request)),
            leaves.eq(store.valid & store.ready),
            self.full.eq((held >= REQUEST) & (sent == 0) & ~fits),
            self.closed.eq(into[:bits] == 0),
            self.empty.eq(held == 0),
            pads.eq(self.close & ~self.closed & space),
            push.eq(written | pads),
        ]
        becomes(m, request, (self.rewind, 0), (leaves & (sent == REQUEST - 1), request + 1))
        with m.If(getattr(self, MEMORY_RESET) | (ResetSignal() & (~store.valid | store.ready))):
            m.d.sync += [into.eq(0), out.eq(0), held.eq(0), request.eq(self._first)]
        data = Cat(each.read(out) for each in self._lanes)
        m.d.comb += store.payload.data.eq(data)
        return m

    def _gather(self, m: Module, into: Value, space: Value, pads: Value) -> Value:
        """Put words into the beat at ``into``, which is several words or a part of one; whether it is written."""
        together, parts, width = self._word // self._beat, self._parts, 8 * min(self._word, self._beat)
        self._lanes = [Ram(m, f"lane{at}", width, self._depth) for at in range(parts)]
        moves = Signal()
        whole = Signal()
        at = Signal(range(max(together, parts)))
        m.d.comb += moves.eq(self.valid & space)
        if together > 1:
            last = at == together - 1
            m.d.comb += [self.ready.eq(space & last), whole.eq(moves)]
        else:
            last = self.skip | (at == parts - 1)
            m.d.comb += [self.ready.eq(space), whole.eq(moves & last)]
        counts(m, at, moves, last)
        word = Mux(pads, 0, self.word.word_select(at, width) if together > 1 else self.word)
        for number, lane in enumerate(self._lanes):
            lane.write(pads | (moves & (1 if together > 1 else at <= number)), into, word)
        return whole
