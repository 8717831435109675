"""Source: takes a stream from outside."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In

from hw.firing.machine import Firing
from hw.firing.unit import FiringRule, Unit
from hw.links.layout import AxiStreamSignature, TokenFormat, cycles_of, data_bits, output_formats
from hw.primitives.memories import Ram
from hw.primitives.timing import counts
from hw.verilog.modules import Parametric
from step.language.faults import Fault
from step.language.graph import Node
from step.language.types import ElementType, Selector, leaves
from step.lowering.links import Span
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Source(FiringRule):
    """One transfer on the port ``external`` per firing; a token enters with its last one.

    Transfers may come with gaps, so the words of a value are gathered, and read while those of the next one come.
    What comes from outside may be anything: what the stream may not have next is a fault, as nothing behind the edge
    looks at it any more.

    The words of a tile of dynamic size are out before the next token enters, which may be a shorter one.

    ``selectors``: words of a value (from 0 on) that end a selector, and how many bits of it they have; behind tiles of
    dynamic size that is how many words there are up to its end. ``most_rows`` of these, where given, are fewer than
    the format has.
    """

    token: TokenFormat
    selectors: tuple[tuple[int | Span, int], ...] = ()
    most_rows: int | None = None

    initiation_interval = 1

    burst = property(lambda self: self.token.cycles)
    outputs = property(lambda self: (self.token,))
    ports = property(lambda self: {"external": In(AxiStreamSignature(self.token))})

    def fire(self, m: Module, firing: Firing) -> None:
        external = firing.unit.external
        header = Signal(self.token.header)
        m.d.comb += header.as_value().eq(external.tuser)
        firing.wait(external.tvalid)
        place = self._place(m, firing, header.value, external.tlast)
        if self.token.most_rows:
            firing.reserve(0, when=header.value & external.tlast, cycles=cycles_of(self.token, header))
            most = self.token.most_rows if self.most_rows is None else self.most_rows
            with m.If(header.value & (header.rows > most)):
                firing.fault(Fault.TOO_MANY_ROWS)
        with m.If(header.value & Cat(*self._beyond(external, header, place)).any()):
            firing.fault(Fault.NO_SUCH_TARGET)
        with m.If(~self._may_come(m, firing, header, external.tlast, place)):
            firing.fault(Fault.NO_TOKEN)
        control = {"control": external.tdata[: self.token.bits]} if self.token.control else {}
        firing.put(0, header, when=external.tlast, **control)
        firing.finish(external.tlast & header.done)
        m.d.comb += external.tready.eq(firing.fires)
        if self.token.word_bits:
            word = external.tdata[: self.token.word_bits]
            firing.send(0, self._gather(m, firing, word, header.value, external.tlast, place))

    def _place(self, m: Module, firing: Firing, value: Value, last: Value) -> Signal:
        """Number of the word that comes."""
        place = Signal(range(self.token.cycles), name="place")
        if self.token.cycles > 1:
            counts(m, place, firing.fires & value, last)
        return place

    def _beyond(self, external: Any, header: Any, place: Signal) -> list[Value]:
        """The bits of the word at ``place`` that stand for targets that are not there, where it ends a selector."""
        ends = (place + 1 == at.at(header.rows) if isinstance(at, Span) else place == at for at, _ in self.selectors)
        return [end & external.tdata[bits:].any() for end, (_, bits) in zip(ends, self.selectors, strict=True)]

    def _may_come(self, m: Module, firing: Firing, header: Any, last: Value, place: Signal) -> Value:
        """Whether a transfer is a part of a token that the stream may have next (docs/language.md).

        A value has all its words, what is none has one transfer. An empty, and Done, are there only where all that
        they are inside of has ended.
        """
        rank = self.token.rank
        ended = Signal(range(rank + 1), init=rank)  # the last stop
        with m.If(firing.fires & last):
            m.d.sync += ended.eq(header.stop)
        whole = last == (~header.value | (place == cycles_of(self.token, header) - 1))
        done = ~header.value & (header.stop == 0) & (header.rank == 0) & (ended == rank)
        value = (header.rank == 0) & (header.stop <= rank)
        empty = (header.rank != 0) & (header.rank <= header.stop) & (header.stop <= rank) & (header.rank <= ended)
        return whole & Mux(header.done, done, Mux(header.value, value, empty))

    def _gather(self, m: Module, firing: Firing, data: Value, value: Value, last: Value, place: Signal) -> Value:
        """The words of the last value, from the cycle after its ``last`` one on."""
        count = self.token.words
        if count == 1:
            return firing.registered(data)
        phase = Signal(range(count))
        comes = firing.fires & value
        with m.If(comes & last):
            m.d.sync += phase.eq(0)
        with m.Else():
            m.d.sync += phase.eq(phase + 1)
        words = Ram(m, "words", len(data), count)
        words.write(comes, place, data)
        return words.read(phase)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    (token,) = output_formats(node, netlist)
    most = netlist.most_rows.get(node.name)
    return Unit(Source(token, _selectors(node.output_types[0].element, token), most))


def _selectors(element: ElementType, token: TokenFormat) -> tuple[tuple[int | Span, int], ...]:
    """The words of an ``element`` that end a selector and have room for more targets, as for `Source`."""
    if not token.items:
        return ()
    items = tuple(leaves(element))
    counts = [Span.of((item,), token.link_bits // 8) for item in items]
    if not token.most_rows:
        counts = [Span(each) for each in token.item_words or (1,)]
    ends = zip(items, counts, accumulate(counts), strict=True)
    found = (
        (end if end.rows else end.fixed - 1, item.bits - (count.fixed - 1) * token.link_bits)
        for item, count, end in ends
        if isinstance(item, Selector)
    )
    return tuple((at, bits) for at, bits in found if bits < data_bits(token))
