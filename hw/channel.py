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

    A token written in cycle t can be read in t+1; a slot freed in t can be claimed in t+1. It is a ring in a memory
    that is read without a clock, so all that its outputs depend on are registers.
    """

    def __init__(self, width: int, depth: int) -> None:
        self._width, self._depth = width, depth
        super().__init__({"i": In(ProducerSignature(width)), "o": Out(stream.Signature(width))})

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self._width, self._depth

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.slots = slots = Memory(shape=self._width, depth=self._depth, init=[])
        write, read = slots.write_port(), slots.read_port(domain="comb")
        leaves = Signal()
        claimed = self._count(m, "claimed", up=self.i.claim, down=leaves)  # slots that are occupied or spoken for
        occupied = self._count(m, "occupied", up=self.i.valid, down=leaves)
        m.d.comb += [
            self.i.space.eq(claimed != self._depth),
            self.o.valid.eq(occupied != 0),
            self.o.payload.eq(read.data),
            leaves.eq(self.o.valid & self.o.ready),
            write.addr.eq(self._place(m, "write_place", self.i.valid)),
            write.data.eq(self.i.payload),
            write.en.eq(self.i.valid),
            read.addr.eq(self._place(m, "read_place", leaves)),
        ]
        return m

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
