"""Bursts: the tile that a port wants, as bursts of the bus."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Elaboratable, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from hw.axi.ports import Lanes, Port
from hw.verilog.modules import Parametric


class Bursts(Parametric):
    """From the first beat of a tile to its bursts, one a cycle; the first one two cycles later.

    A burst ends with the tile, or at a multiple of the longest burst, and so within 4 KB. ``base`` of a port is a byte
    address; its bits below a beat are taken for zeros. ``busy``: there is a tile inside.
    """

    def __init__(self, ports: tuple[Port, ...], lanes: Lanes) -> None:
        self._ports, self._lanes = ports, lanes
        tile = StructLayout({"port": range(len(ports)), "address": 32})
        members: dict[str, Any] = {f"base{at}": In(lanes.bus.address_bits) for at in range(len(ports))}
        burst = lanes.burst(len(ports))
        super().__init__(
            {"i": In(stream.Signature(tile)), "o": Out(stream.Signature(burst)), "busy": Out(1), **members}
        )

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        lanes, ports, shift = self._lanes, self._ports, self._lanes.shift
        bases = Array(getattr(self, f"base{at}")[shift:] for at in range(len(ports)))
        asked = Signal()
        asked_port = Signal(range(len(ports)))
        offset = Signal(32)
        open = Signal()
        port = Signal.like(asked_port)
        place = Signal(lanes.bus.address_bits - shift)
        left = Signal(range(max(each.beats for each in ports) * lanes.transfers))  # transfers but one
        index = Signal(lanes.index_bits)  # of the burst: transfers but one
        room = Signal(lanes.index_bits)  # ... and those that it may have
        last = Signal()
        loads = Signal()
        m.d.comb += [
            index.eq(place),
            room.eq(~index),
            last.eq(left <= room),
            self.o.valid.eq(open),
            self.o.payload.port.eq(port),
            self.o.payload.address.eq(place << shift),
            self.o.payload.length.eq(Mux(last, left, room)),
            self.o.payload.last.eq(last),
            loads.eq(asked & (~open | (self.o.ready & last))),
            self.i.ready.eq(~asked | loads),
            self.busy.eq(asked | open),
        ]
        with m.If(self.i.ready):
            m.d.sync += asked.eq(self.i.valid)
            m.d.sync += asked_port.eq(self.i.payload.port)
            m.d.sync += offset.eq(self.i.payload.address - Array(each.first for each in ports)[self.i.payload.port])
        with m.If(loads):
            m.d.sync += [open.eq(1), port.eq(asked_port), place.eq(bases[asked_port] + offset * lanes.transfers)]
            m.d.sync += left.eq(Array(each.beats * lanes.transfers - 1 for each in ports)[asked_port])
        with m.Elif(self.o.ready & last):
            m.d.sync += open.eq(0)
        with m.Elif(self.o.ready):
            m.d.sync += [place.eq(Cat(Const(0, len(index)), place[len(index) :] + 1)), left.eq(left - room - 1)]
        return m
