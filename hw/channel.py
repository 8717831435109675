"""Channels: the FIFOs between units, which cut every combinational path, with headers and data apart."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.layout import Format
from hw.shared import Parametric


class ProducerSignature(wiring.Signature):
    """The writing side of a channel, as seen by the writer.

    ``space``: a slot is neither occupied nor claimed. ``claim`` takes a slot; ``valid`` writes ``header`` into the
    oldest claimed one, in the same cycle or any later one. ``word`` is its data in the cycle after that.
    """

    def __init__(self, format: Format) -> None:
        header = format.header
        members = {"space": In(1), "claim": Out(1), "valid": Out(1)}
        members |= {"header": Out(header)} if header.size else {}
        super().__init__(members | ({"word": Out(format.data_bits)} if format.data_bits else {}))


class ConsumerSignature(wiring.Signature):
    r"""The reading side of a channel, as seen by the channel.

    A stream of ``header``\ s; ``word`` is the data of the token that was in front a cycle ago, taken or not.
    """

    def __init__(self, format: Format) -> None:
        header = format.header
        members = {"valid": Out(1), "ready": In(1)} | ({"header": Out(header)} if header.size else {})
        super().__init__(members | ({"word": Out(format.data_bits)} if format.data_bits else {}))


class Channel(Parametric):
    """A FIFO of ``depth`` slots for tokens of ``format``.

    A header written in cycle t can be read in t+1; a slot freed in t can be claimed in t+1. It is a ring in a memory
    that is read without a clock, so all that its outputs depend on are registers. Data lies in a ring of its own, in
    the same place: it is written one cycle behind its header, and read one cycle behind it, so that either address
    comes from a register. A slot that is freed is read in the next cycle still, and not written before the end of
    the one after that.
    """

    def __init__(self, format: Format, depth: int) -> None:
        self._format, self._depth = format, depth
        super().__init__({"i": In(ProducerSignature(format)), "o": Out(ConsumerSignature(format))})

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self._format.header.size, self._format.data_bits, self._depth

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        leaves = Signal()
        claimed = self._count(m, "claimed", up=self.i.claim, down=leaves)  # slots that are occupied or spoken for
        occupied = self._count(m, "occupied", up=self.i.valid, down=leaves)
        write_place = self._place(m, "write_place", self.i.valid)
        read_place = self._place(m, "read_place", leaves)
        m.d.comb += [
            self.i.space.eq(claimed != self._depth),
            self.o.valid.eq(occupied != 0),
            leaves.eq(self.o.valid & self.o.ready),
        ]
        if self._format.header.size:
            header = Value.cast(self.o.header)
            self._ring(m, "headers", Value.cast(self.i.header), header, self.i.valid, write_place, read_place)
        if self._format.data_bits:
            lagging = [Signal.like(each, name=f"{each.name}_before") for each in (write_place, read_place)]
            m.d.sync += [late.eq(each) for late, each in zip(lagging, (write_place, read_place), strict=True)]
            arrives = Signal()
            m.d.sync += arrives.eq(self.i.valid)
            self._ring(m, "words", self.i.word, self.o.word, arrives, *lagging)
        return m

    def _ring(
        self, m: Module, name: str, given: Value, front: Value, enable: Value, write_place: Value, read_place: Value
    ) -> None:
        m.submodules[name] = ring = Memory(shape=len(given), depth=self._depth, init=[])
        write, read = ring.write_port(), ring.read_port(domain="comb")
        m.d.comb += [write.addr.eq(write_place), write.data.eq(given), write.en.eq(enable)]
        m.d.comb += [read.addr.eq(read_place), front.eq(read.data)]

    def _count(self, m: Module, name: str, *, up: Signal, down: Signal) -> Signal:
        count = Signal(range(self._depth + 1), name=name)
        with m.If(up & ~down):
            m.d.sync += count.eq(count + 1)
        with m.Elif(~up & down):
            m.d.sync += count.eq(count - 1)
        return count

    def _place(self, m: Module, name: str, moves: Signal) -> Signal:
        place = Signal(range(self._depth), name=name)
        with m.If(moves):
            m.d.sync += place.eq(Mux(place == self._depth - 1, 0, place + 1))
        return place
