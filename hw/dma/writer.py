"""Writer: words to memory, one after the other."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hw.links.layout import WriteFormat
from hw.memory.port import MEMORY_RESET, MemoryPort, outside
from hw.verilog.modules import Parametric, Shared
from step.lowering.dma import REQUEST


class Writer(Parametric):
    """Words of ``word_bytes`` to beats of ``beat_bytes``, from the beat ``first`` on; both are powers of two.

    ``word`` goes with ``valid`` and ``ready``; with ``skip`` the rest of its beat is 0. ``close``, after such a word
    and until ``closed``, fills the last request with zeros. ``rewind`` goes on at beat 0.
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
                "rewind": In(1),
                "store": Out(stream.Signature(self._format.header)),
                MEMORY_RESET: In(1),
            }
        )

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self._beat, self._word, self._first

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.port = port = Shared(MemoryPort(self._format, 2))
        outside(m, port, self, self.store)
        address, writes, fills = Signal(32, init=self._first), Signal(), Signal()
        beat, whole = self._gather(m, port.i.space)
        m.d.comb += [
            self.closed.eq(address % REQUEST == 0),
            fills.eq(self.close & ~self.closed & port.i.space),
            writes.eq(whole | fills),
            port.i.claim.eq(writes),
            port.i.valid.eq(writes),
            port.i.header.address.eq(address),
            port.i.header.data.eq(Mux(whole, beat, 0)),
        ]
        with m.If(self.rewind):
            m.d.sync += address.eq(0)
        with m.Elif(writes):
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
        place, moves = Signal(range(parts)), Signal()
        before = Array(Signal(8 * self._word, name=f"before{at}") for at in range(parts - 1))
        m.d.comb += [
            self.ready.eq(space),
            moves.eq(self.valid & space),
            whole.eq(moves & (self.skip | (place == parts - 1))),
        ]
        with m.If(moves):
            m.d.sync += place.eq(Mux(whole, 0, place + 1))
            for at, each in enumerate(before):
                with m.If(whole | (place == at)):
                    m.d.sync += each.eq(Mux(whole, 0, self.word))
        words = [Mux(place == at, self.word, each) for at, each in enumerate(before)]
        last = Mux(place == parts - 1, self.word, 0)
        return Cat(*words, last), whole
