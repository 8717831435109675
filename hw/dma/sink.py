"""SinkDma: writes what a sink of a fabric hands out to memory."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dma.writer import Writer
from hw.links.layout import AxiStreamSignature, TokenFormat, WriteFormat
from hw.verilog.modules import Parametric, Shared
from hw.verilog.structure import MEMORY_RESET
from step.language.faults import Fault
from step.lowering.dma import LENGTH_BYTES, LIST, VALUES, StreamPlan

PARTS = (VALUES, LIST)
"""Parts that it writes."""


class SinkDma(Parametric):
    """Writes the stream of ``plan``, whose tokens have ``format``: its values, and the length of every list at its end.

    The levels are those of `hw.dma.source.SourceDma`. A length takes a cycle, in which no token is taken. ``done``:
    the stream has ended, and memory has taken all. ``fault``: a part is longer than its limit in bytes.
    """

    def __init__(self, plan: StreamPlan, format: TokenFormat) -> None:
        self._plan, self._format, self._top = plan, format, format.rank + 1
        store = Out(stream.Signature(WriteFormat(8 * plan.beat_bytes).header))
        ports = {f"{part}_store": store for part in PARTS} | {f"{part}_limit": In(32) for part in PARTS}
        ports |= {"i": In(AxiStreamSignature(format)), "done": Out(1), "fault": Out(4), MEMORY_RESET: In(1)}
        super().__init__(ports)
        self.parameters = {"word_bytes": plan.word_bytes, "beat_bytes": plan.beat_bytes, "token": format}

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        plan, format, top = self._plan, self._format, self._top
        values, lengths = self._writer(m, VALUES, plan.word_bytes), self._writer(m, LIST, LENGTH_BYTES, 1)
        counts = Array(Signal(32, name=f"count{at}") for at in range(top + 2))  # entries so far, of each level
        level = Signal(range(top + 1))
        stop = Signal(range(top))
        listed = Signal(32)
        held = Signal(32)
        rows = Signal(32)
        header = Signal(format.header)
        m.d.comb += header.as_value().eq(self.i.tuser)
        with m.If(values.full | lengths.full):
            m.d.sync += self.fault.eq(Fault.REGION_FULL)
        with m.If(lengths.valid & lengths.ready):
            m.d.sync += listed.eq(listed + 1)
        with m.FSM():
            with m.State("take"), m.If(self._take(m, values, header)):
                m.d.sync += [level.eq(header.rank), stop.eq(header.stop), rows.eq(self._rows(header))]
                with m.If(header.value):
                    m.d.sync += held.eq(held + 1)
                with m.If(header.done):
                    m.d.sync += level.eq(top)
                if not format.most_rows:
                    with m.Elif(header.value):
                        m.d.sync += [counts[1].eq(counts[1] + 1), level.eq(1)]
                with m.If(~header.value | (header.stop != 0) | (format.most_rows > 0)):
                    m.next = "list"
            with m.State("list"):
                self._put(m, lengths, Mux(level == 0, rows, counts[level]), level == top)
                with m.If(lengths.ready):
                    m.d.sync += [counts[level].eq(0), counts[level + 1].eq(counts[level + 1] + 1), level.eq(level + 1)]
                    with m.If(level == top):
                        m.next = "close"
                    with m.Elif(level >= stop):
                        m.next = "take"
            with m.State("close"):
                m.d.comb += [values.close.eq(1), lengths.close.eq(1)]
                with m.If(values.closed & lengths.closed & lengths.empty):
                    m.d.comb += lengths.rewind.eq(1)
                    m.next = "listed"
            for state, word, after in (("listed", listed, "held"), ("held", held, "end")):
                with m.State(state):
                    self._put(m, lengths, word, after == "end")
                    with m.If(lengths.ready):
                        m.next = after
            with m.State("end"):
                m.d.comb += lengths.close.eq(1)
                m.d.comb += self.done.eq(lengths.closed & lengths.empty & values.empty)
        return m

    def _writer(self, m: Module, part: str, word_bytes: int, first: int = 0) -> Any:
        m.submodules[part] = writer = Shared(Writer(self._plan.beat_bytes, word_bytes, first))
        wiring.connect(m, wiring.flipped(getattr(self, f"{part}_store")), writer.store)
        m.d.comb += [
            writer.limit.eq(getattr(self, f"{part}_limit")[self._plan.request_bytes.bit_length() - 1 :]),
            getattr(writer, MEMORY_RESET).eq(getattr(self, MEMORY_RESET)),
        ]
        return writer

    def _take(self, m: Module, values: Any, header: Any) -> Value:
        """Take a transfer; whether it is the last one of a token."""
        has_word = Signal()
        m.d.comb += [
            has_word.eq(header.value & ((self._rows(header) != 0) if self._format.most_rows else 1)),
            values.word.eq(self.i.tdata),
            values.valid.eq(self.i.tvalid & has_word),
            values.skip.eq(self.i.tlast),
            self.i.tready.eq(~has_word | values.ready),
        ]
        return self.i.tvalid & self.i.tready & self.i.tlast

    def _rows(self, header: Any) -> Value | int:
        return header.rows if self._format.most_rows else 0

    def _put(self, m: Module, lengths: Any, word: Value, last: Value | bool) -> None:
        m.d.comb += [lengths.word.eq(word), lengths.valid.eq(1), lengths.skip.eq(last)]
