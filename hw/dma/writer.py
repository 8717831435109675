"""Writer: words to memory, one after the other."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hw.axi.queue import Queue
from hw.links.channel import count, place
from hw.links.layout import WriteFormat
from hw.memory.port import MEMORY_RESET, MemoryPort, outside
from hw.verilog.modules import Parametric, Shared
from step.lowering.dma import REQUEST


class Writer(Parametric):
    """Words of ``word_bytes`` to beats of ``beat_bytes``, from the beat ``first`` on; both are powers of two.

    ``word`` goes with ``valid`` and ``ready``; with ``skip`` the rest of its beat is 0. ``close``, after such a word
    and until ``closed``, fills the last request with zeros. ``empty``: memory has taken all; then ``rewind`` goes on at
    beat 0. Nothing is written from request ``limit`` on: ``full`` says that something should be.

    Only whole requests are offered: a master serves no other port amid one, and the rest of it may need what that
    other port writes.
    """

    def __init__(self, beat_bytes: int, word_bytes: int, first: int = 0) -> None:
        self._beat, self._word, self._first = beat_bytes, word_bytes, first
        self._format = WriteFormat(8 * beat_bytes)
        super().__init__(
            {
                "word": In(8 * word_bytes),
                "valid": In(1),
                "ready": Out(1),
                "skip": In(1),
                "close": In(1),
                "closed": Out(1),
                "empty": Out(1),
                "rewind": In(1),
                "limit": In(32),
                "full": Out(1),
                "store": Out(stream.Signature(self._format.header)),
                MEMORY_RESET: In(1),
            }
        )

    @property
    def parameters(self) -> dict[str, Any]:
        return {"beat_bytes": self._beat, "word_bytes": self._word, "first": self._first}

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.port = port = Shared(MemoryPort(self._format, 2))
        outside(m, port, self, self.store)
        beats = Queue(m, "beats", 8 * self._beat, 2 * REQUEST)
        filled = place(m, "filled", REQUEST, beats.push)  # beats of the request that is not whole
        sent = place(m, "sent", REQUEST, beats.pop)
        whole, goes = Signal(), Signal()
        m.d.comb += [whole.eq(beats.push & (filled == REQUEST - 1)), goes.eq(beats.pop & (sent == REQUEST - 1))]
        requests = count(m, "requests", 2, up=whole, down=goes)
        beat, written = self._gather(m, beats.space)
        address, fits = Signal(32, init=self._first), Signal()
        m.d.comb += [
            self.closed.eq(filled == 0),
            self.empty.eq(~beats.valid & ~self.store.valid),
            beats.push.eq(written | (self.close & ~self.closed & beats.space)),
            beats.word.eq(Mux(written, beat, 0)),
            fits.eq(address[REQUEST.bit_length() - 1 :] < self.limit),
            self.full.eq((requests != 0) & ~fits),
            beats.pop.eq((requests != 0) & fits & port.i.space),
            port.i.claim.eq(beats.pop),
            port.i.valid.eq(beats.pop),
            port.i.header.address.eq(address),
            port.i.header.data.eq(beats.front),
        ]
        with m.If(self.rewind):
            m.d.sync += address.eq(0)
        with m.Elif(beats.pop):
            m.d.sync += address.eq(address + 1)
        return m

    def _gather(self, m: Module, space: Value) -> tuple[Value, Value]:
        """A beat, which is several words or a part of one, and whether it is written."""
        parts, together = self._beat // self._word, self._word // self._beat
        whole = Signal()
        if together > 1:
            part = Signal(range(together))
            m.d.comb += [whole.eq(self.valid & space), self.ready.eq(space & (part == together - 1))]
            with m.If(whole):
                m.d.sync += part.eq(part + 1)
            return self.word.word_select(part, 8 * self._beat), whole
        at, moves = Signal(range(parts)), Signal()
        before = Array(Signal(8 * self._word, name=f"before{at}") for at in range(parts - 1))
        m.d.comb += [
            self.ready.eq(space),
            moves.eq(self.valid & space),
            whole.eq(moves & (self.skip | (at == parts - 1))),
        ]
        with m.If(moves):
            m.d.sync += at.eq(Mux(whole, 0, at + 1))
            for number, each in enumerate(before):
                with m.If(whole | (at == number)):
                    m.d.sync += each.eq(Mux(whole, 0, self.word))
        words = [Mux(at == number, self.word, each) for number, each in enumerate(before)]
        last = Mux(at == parts - 1, self.word, 0)
        return Cat(*words, last), whole
