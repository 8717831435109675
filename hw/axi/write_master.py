"""WriteMaster: the stores of a fabric on one AXI4 bus."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Elaboratable, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hw.axi.bursts import Bursts
from hw.axi.ports import FAULT, Lanes, Port, address_channel, answer_channel, ask_for_bursts, note_error, write_channel
from hw.axi.queue import Queue
from hw.axi.turns import turns
from hw.verilog.modules import Parametric, Shared
from step.lowering.bus import AHEAD


class WriteMaster(Parametric):
    """Tiles that ``ports`` write, by turns, as bursts.

    A port is served until its tile is whole. Its beats wait until their burst is asked for, so data never comes before
    its address. ``written`` of a port is up as many cycles as beats have become visible.

    A fabric in reset (``cut``) has written only a part of a tile: the rest of it is written with no byte enabled, so a
    burst that began always ends. ``cut`` stays up until the master is ``idle``: nothing is offered, and nothing that
    was written has no answer yet.
    """

    def __init__(self, ports: tuple[Port, ...], lanes: Lanes) -> None:
        self._ports, self._lanes = ports, lanes
        members: dict[str, Any] = {}
        for at, port in enumerate(ports):
            members[f"store{at}"] = In(stream.Signature(32 + 8 * lanes.beat))
            members[f"base{at}"] = In(lanes.bus.address_bits)
            if port.acknowledged:
                members[f"written{at}"] = Out(1)
        self.channels = address_channel("aw", lanes.bus) | write_channel(lanes.bus) | answer_channel()
        super().__init__({**members, **self.channels, "cut": In(1), "idle": Out(1), **FAULT})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        lanes, bus = self._lanes, self._lanes.bus
        m.submodules.bursts = bursts = Shared(Bursts(self._ports, lanes))
        m.d.comb += [getattr(bursts, f"base{at}").eq(getattr(self, f"base{at}")) for at in range(len(self._ports))]
        beats = Queue(m, "beats", 1 + 8 * lanes.beat, AHEAD)
        began, offered = self._gather(m, bursts, beats)

        burst = bursts.o.payload
        transfers = Queue(m, "transfers", lanes.lane_bits + len(burst.length), bus.outstanding)
        due = Queue(m, "due", len(burst.port) + len(burst.length) + len(burst.address), bus.outstanding)
        ask_for_bursts(m, self, "aw", bursts, lanes, due, Cat(burst.port, burst.length, burst.address))
        m.d.comb += [
            transfers.push.eq(due.push),
            transfers.word.eq(Cat(burst.address[lanes.shift :][: lanes.lane_bits], burst.length)),
        ]
        self._transfer(m, beats, transfers)
        telling = self._answers(m, due)
        m.d.comb += self.idle.eq(~offered & ~began & ~bursts.busy & ~beats.valid & ~due.valid & ~telling)
        return m

    def _gather(self, m: Module, bursts: Any, beats: Queue) -> tuple[Any, Any]:
        """Beats of a tile into the queue; returns whether one began and is not whole, and whether a port has one."""
        stores = [getattr(self, f"store{at}") for at in range(len(self._ports))]
        valids = Cat(each.valid for each in stores)
        began = Signal()
        missing = Signal()
        takes = Signal()
        last = Signal()
        at = Signal(range(max(each.beats for each in self._ports)))  # beat of the tile
        port = turns(m, valids, takes & last, held=began)
        payload = Array(each.payload for each in stores)[port]
        offers = valids.bit_select(port, 1)
        m.d.comb += [
            missing.eq(self.cut & began & ~offers),
            takes.eq((offers | missing) & beats.space & (began | bursts.i.ready)),
            last.eq(at == Array(each.beats - 1 for each in self._ports)[port]),
            bursts.i.valid.eq(offers & beats.space & ~began),
            bursts.i.payload.port.eq(port),
            bursts.i.payload.address.eq(payload[:32]),
            beats.push.eq(takes),
            beats.word.eq(Cat(offers, payload[32:])),
        ]
        m.d.comb += [each.ready.eq(takes & offers & (port == number)) for number, each in enumerate(stores)]
        with m.If(takes):
            m.d.sync += [began.eq(~last), at.eq(Mux(last, 0, at + 1))]
        return began, valids.any()

    def _transfer(self, m: Module, beats: Queue, transfers: Queue) -> None:
        """Beats of the bursts that are asked for onto the bus."""
        lanes = self._lanes
        first, length = transfers.front[: lanes.lane_bits], transfers.front[lanes.lane_bits :]
        passed = Signal(range(lanes.bus.burst))
        moves = Signal()
        part = Signal(range(lanes.transfers))
        enabled, beat = beats.front[0], beats.front[1:]
        bytes = Signal(lanes.bytes)
        m.d.comb += [
            self.wvalid.eq(beats.valid & transfers.valid),
            self.wlast.eq(passed == length),
            moves.eq(self.wvalid & self.wready),
            transfers.pop.eq(moves & self.wlast),
            beats.pop.eq(moves & (part == lanes.transfers - 1)),
            bytes.eq(enabled.replicate(lanes.bytes)),
            self.wdata.eq(beat.word_select(part, 8 * lanes.bytes).replicate(lanes.lanes)),
        ]
        lane = (first + passed)[: lanes.lane_bits]
        for at in range(lanes.lanes):
            m.d.comb += self.wstrb.word_select(at, lanes.bytes).eq(Mux(lane == at, bytes, 0))
        with m.If(moves):
            m.d.sync += [passed.eq(Mux(self.wlast, 0, passed + 1)), part.eq(part + 1)]

    def _answers(self, m: Module, due: Queue) -> Any:
        """Tell ports what is visible; returns whether there is more to tell."""
        lanes, count = self._lanes, len(self._ports)
        bits = (count - 1).bit_length()
        of, rest = due.front[:bits], due.front[bits:]
        length, address = rest[: max(1, lanes.index_bits)], rest[max(1, lanes.index_bits) :]
        telling = Signal()
        told = Signal(range(count))
        left = Signal(range(lanes.bus.burst))
        comes = Signal()
        m.d.comb += [
            self.bready.eq(due.valid & (~telling | (left == 0))),
            comes.eq(self.bvalid & self.bready),
            due.pop.eq(comes),
        ]
        with m.If(comes):
            m.d.sync += [telling.eq(1), told.eq(of), left.eq(length >> (lanes.transfers - 1).bit_length())]
        with m.Elif(left == 0):
            m.d.sync += telling.eq(0)
        with m.Else():
            m.d.sync += left.eq(left - 1)
        for at, port in enumerate(self._ports):
            if port.acknowledged:
                m.d.comb += getattr(self, f"written{at}").eq(telling & (told == at))
        note_error(m, self, self._ports, of, address, Mux(comes, self.bresp, 0))
        return telling
