"""SourceDma: feeds a source of a fabric from memory."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.dma.lengths import LENGTH, Lengths, length
from hw.dma.reader import BeatReader
from hw.links.layout import AxiStreamSignature, TokenFormat, data_bits
from hw.primitives.counts import larger
from hw.primitives.timing import counts
from hw.verilog.modules import Parametric, Shared
from hw.verilog.structure import MEMORY_RESET
from step.language.faults import Fault
from step.lowering.dma import LEAST_AHEAD, LENGTH_BYTES, LIST, REQUEST, VALUES, StreamPlan


class SourceDma(Parametric):
    """Walks the dimensions of the stream of ``plan``, and makes its tokens in ``format``, from its reset on.

    ``ahead``: beats of values that are asked for before they are used, at most (`step.lowering.board.BusConfig`).

    The levels of the walk: 0 is a value, k a list of rank k, and that of rank + 1 the stream. A list takes a cycle to
    open, as does a value with rows of its own; then come the transfers. ``fault``: lengths stand for more than is
    there.
    """

    def __init__(self, plan: StreamPlan, format: TokenFormat, ahead: int) -> None:
        self._plan, self._format, self._top, self._ahead = plan, format, format.rank + 1, ahead
        members: dict[str, Any] = {}
        for part in plan.parts:
            members[f"{part}_request"] = Out(stream.Signature(32))
            response = {"payload": Out(8 * plan.beat_bytes), "valid": Out(1)}
            members[f"{part}_response"] = In(wiring.Signature(response))
        super().__init__({**members, "o": Out(AxiStreamSignature(format)), "fault": Out(4), MEMORY_RESET: In(1)})
        planned = ("extents", "rows", "word_bytes", "words", "beat_bytes")
        self.parameters = {each: getattr(plan, each) for each in planned} | {"ahead": ahead, "token": format}

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        plan, top = self._plan, self._top
        wanted = self._ahead if plan.listed else max(LEAST_AHEAD, 1 << ceil_log2(plan.requests * REQUEST))
        lengths = Lengths(m, self._reader(m, LIST, LENGTH_BYTES, LEAST_AHEAD)) if plan.listed else None
        values = self._reader(m, VALUES, plan.word_bytes, min(wanted, self._ahead))
        level = Signal(range(top + 1), init=top)  # to open
        empty = Signal(range(top))  # its rank, or 0
        left = [Signal(LENGTH, name=f"left{at}") for at in range(top + 1)]  # entries of each level that are not out
        with m.FSM(init="begin" if lengths else "open"):
            if lengths:
                self._begin(m, lengths, values)
            with m.State("open"):
                extent, known = self._extent(m, lengths, level)
                with m.If(known):
                    m.d.sync += empty.eq(0)
                    for at, each in enumerate(left):
                        with m.If(level == at):
                            m.d.sync += each.eq(extent)
                    with m.If((level == 0) | ((level == 1) & ~extent.none & (not plan.rows))):
                        m.next = "send"
                    with m.Elif(~extent.none):
                        m.d.sync += level.eq(level - 1)
                    with m.Elif(level == top):
                        m.next = "done"
                    with m.Else():
                        m.d.sync += empty.eq(level)
                        m.next = "send"
            with m.State("send"):
                goes_on, all_out = self._goes_on(m, empty, left)
                with m.If(self._send(m, values, empty, left[0].entries, Mux(all_out, top, goes_on) - 1)):
                    m.d.sync += [level.eq(goes_on - 1), empty.eq(0)]
                    for at, each in enumerate(left[1:], 1):
                        with m.If(goes_on == at):
                            m.d.sync += [each.entries.eq(each.entries - 1), each.one.eq(each.entries == 2)]
                    with m.If(all_out):
                        m.next = "done"
                    with m.Elif((goes_on != 1) | plan.rows):
                        m.next = "open"
            with m.State("done"):
                m.d.comb += [self.o.tvalid.eq(1), self.o.tlast.eq(1), self.o.tuser.eq(1)]
                with m.If(self.o.tready):
                    m.next = "end"
            with m.State("end"):
                pass
        return m

    def _reader(self, m: Module, part: str, word_bytes: int, depth: int) -> Any:
        if part not in self._plan.parts:
            return None
        reader = Shared(BeatReader(self._plan.beat_bytes, word_bytes, depth))
        m.submodules[part] = reader
        for end in ("request", "response"):
            wiring.connect(m, wiring.flipped(getattr(self, f"{part}_{end}")), getattr(reader, end))
        m.d.comb += getattr(reader, MEMORY_RESET).eq(getattr(self, MEMORY_RESET))
        if part == VALUES and not self._plan.listed:
            m.d.comb += reader.limit.eq(self._plan.requests)
        return reader

    def _begin(self, m: Module, lengths: Lengths, values: Any) -> None:
        """Read how many requests the list takes, and how many the values; what is beyond `MOST_REQUESTS` is cut off."""
        bits = len(lengths.limit)
        limits = {"begin": Signal(bits, name="list_limit", init=1), "sized": Signal(bits, name="values_limit")}
        m.d.comb += lengths.limit.eq(limits["begin"])
        if values is not None:
            m.d.comb += values.limit.eq(limits["sized"])
        for state, after in (("begin", "sized"), ("sized", "open")):
            with m.State(state):
                m.d.comb += lengths.pop.eq(lengths.valid)
                with m.If(lengths.valid):
                    m.d.sync += limits[state].eq(lengths.front.entries)
                    m.next = after

    def _extent(self, m: Module, lengths: Lengths | None, level: Value) -> tuple[Any, Value]:
        """Number of entries of the list of ``level``, or of rows of the value, and whether that is known."""
        extents = [None if self._plan.rows else 0, *reversed(self._plan.extents)]
        fixed, extent = Array(length(Const(each or 0, 32)) for each in extents)[level], Signal(LENGTH, name="extent")
        if lengths is None:
            m.d.comb += extent.eq(fixed)
            return extent, Const(1)
        listed = Cat(each is None for each in extents).bit_select(level, 1)
        m.d.comb += [extent.eq(Mux(listed, lengths.front, fixed)), lengths.pop.eq(listed & lengths.valid)]
        with m.If(listed & lengths.ended):
            m.d.sync += self.fault.eq(Fault.LIST_TOO_SHORT)
        return extent, ~listed | lengths.valid

    def _goes_on(self, m: Module, empty: Value, left: list[Any]) -> tuple[Value, Value]:
        """The lowest level with more entries behind this one, and whether there is none."""
        goes_on = Signal(range(self._top + 1))
        all_out = Signal()
        m.d.comb += all_out.eq(1)
        for at in reversed(range(1, self._top + 1)):
            with m.If((empty < at) & ~left[at].one):
                m.d.comb += [goes_on.eq(at), all_out.eq(0)]
        return goes_on, all_out

    def _send(self, m: Module, values: Any, empty: Value, rows: Value, stop: Value) -> Value:
        """Offer a transfer of a value, or an ``empty`` that is not 0; whether the last one goes."""
        format = self._format
        header = Signal(self._format.header)
        last = Signal()
        goes = Signal()
        moves = Signal()
        m.d.comb += [header.value.eq(empty == 0), header.stop.eq(stop), header.rank.eq(empty), goes.eq(moves & last)]
        if format.most_rows:
            shown = Mux(rows > format.most_rows, format.most_rows + 1, rows)
            m.d.comb += header.rows.eq(Mux(header.value, shown, 0))
        m.d.comb += [self.o.tuser.eq(header.as_value()), self.o.tlast.eq(last), moves.eq(self.o.tvalid & self.o.tready)]
        place = Signal(range(format.cycles))
        cycles = larger(format.words_of(header.rows), 1) if format.most_rows else format.cycles
        m.d.comb += last.eq(~header.value | (place == cycles - 1))
        counts(m, place, moves, last)
        if values is None:
            m.d.comb += self.o.tvalid.eq(1)
            return goes
        takes = header.value & ((rows != 0) if self._plan.rows else 1)
        m.d.comb += [
            self.o.tvalid.eq(~takes | values.valid),
            values.pop.eq(takes & moves),
            values.skip.eq(last),
            self.o.tdata.eq(Mux(takes, values.word, 0)[: data_bits(format)]),
        ]
        with m.If(takes & values.ended):
            m.d.sync += self.fault.eq(Fault.LIST_TOO_SHORT)
        return goes
