"""Channels: the FIFOs between units, which cut every combinational path."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.shared import Parametric


class ProducerSignature(wiring.Signature):
    """The writing side of a channel, as seen by the writer.

    ``space``: a slot is neither occupied nor claimed. ``claim`` takes a slot; ``valid`` writes ``payload`` into the
    oldest claimed one, in the same cycle or any later one.
    """

    def __init__(self, payload: Any) -> None:
        super().__init__({"space": In(1), "claim": Out(1), "valid": Out(1), "payload": Out(payload)})


class Channel(Parametric):
    """A FIFO of ``depth`` slots of ``width`` bits.

    A token written in cycle t can be read in t+1; a slot freed in t can be claimed in t+1. The token in front is in
    a register, the others behind it in a memory.
    """

    def __init__(self, width: int, depth: int) -> None:
        self._width, self._depth = width, depth
        super().__init__({"i": In(ProducerSignature(width)), "o": Out(stream.Signature(width))})

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self._width, self._depth

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        leaves = Signal()
        taken = Signal(range(self._depth + 1))  # slots that are occupied or claimed
        m.d.comb += [leaves.eq(self.o.valid & self.o.ready), self.i.space.eq(taken != self._depth)]
        with m.If(self.i.claim & ~leaves):
            m.d.sync += taken.eq(taken + 1)
        with m.Elif(~self.i.claim & leaves):
            m.d.sync += taken.eq(taken - 1)

        front = Signal(self._width, reset_less=True)
        occupied = Signal()
        m.d.comb += [self.o.valid.eq(occupied), self.o.payload.eq(front)]
        behind = Signal(range(max(2, self._depth)))  # tokens in the memory
        to_front = Signal()
        m.d.comb += to_front.eq(self.i.valid & (~occupied | leaves) & (behind == 0))
        with m.If(to_front):
            m.d.sync += [front.eq(self.i.payload), occupied.eq(1)]
        with m.Elif(leaves & (behind == 0)):
            m.d.sync += occupied.eq(0)
        if self._depth > 1:
            self._add_rest(m, front, behind, self.i.valid & ~to_front, leaves & (behind != 0))
        return m

    def _add_rest(self, m: Module, front: Signal, behind: Signal, write: Any, read: Any) -> None:
        """The ``depth - 1`` slots behind the front: ``write`` puts a token there, ``read`` moves one to the front."""
        slots = self._depth - 1
        writes, reads = Signal(), Signal()
        m.d.comb += [writes.eq(write), reads.eq(read)]
        with m.If(writes & ~reads):
            m.d.sync += behind.eq(behind + 1)
        with m.Elif(~writes & reads):
            m.d.sync += behind.eq(behind - 1)
        if slots == 1:
            second = Signal(self._width, reset_less=True)
            with m.If(writes):
                m.d.sync += second.eq(self.i.payload)
            with m.If(reads):
                m.d.sync += front.eq(second)
            return
        m.submodules.rest = rest = Memory(shape=self._width, depth=slots, init=[])
        write_port, read_port = rest.write_port(), rest.read_port(domain="comb")
        m.d.comb += [write_port.en.eq(writes), write_port.data.eq(self.i.payload)]
        for moves, address in ((writes, write_port.addr), (reads, read_port.addr)):
            place = Signal(range(slots))
            m.d.comb += address.eq(place)
            with m.If(moves):
                m.d.sync += place.eq(Mux(place == slots - 1, 0, place + 1))
        with m.If(reads):
            m.d.sync += front.eq(read_port.data)

