"""ReadMaster: the loads of a fabric on one AXI4 bus."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.axi.bursts import Bursts
from hw.axi.ports import FAULT, Lanes, Port, address_channel, ask_for_bursts, note_error, read_channel
from hw.axi.queue import Queue
from hw.axi.turns import turns
from hw.primitives.timing import counts
from hw.verilog.modules import Parametric, Shared


class ReadMaster(Parametric):
    """Tiles that ``ports`` request, by turns, as bursts; a port gets its beats in the order of its requests.

    A port always has room for what it requested, so data is taken as soon as it comes. A beat with an error is handed
    on like any other, and noted. ``idle``: nothing is requested, and nothing will come.

    A reset of the fabric does not concern a master: a port throws away what it requested before, and goes on to be
    served.
    """

    def __init__(self, ports: tuple[Port, ...], lanes: Lanes) -> None:
        self._ports, self._lanes = ports, lanes
        members: dict[str, Any] = {}
        for at in range(len(ports)):
            members[f"request{at}"] = In(stream.Signature(32))
            members[f"response{at}"] = Out(wiring.Signature({"payload": Out(8 * lanes.beat), "valid": Out(1)}))
            members[f"base{at}"] = In(lanes.bus.address_bits)
        self.channels = address_channel("ar", lanes.bus) | read_channel(lanes.bus)
        super().__init__({**members, **self.channels, "idle": Out(1), **FAULT})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        lanes, count = self._lanes, len(self._ports)
        m.submodules.bursts = bursts = Shared(Bursts(self._ports, lanes))
        m.d.comb += [getattr(bursts, f"base{at}").eq(getattr(self, f"base{at}")) for at in range(count)]
        requests = [getattr(self, f"request{at}") for at in range(count)]
        valids = Cat(each.valid for each in requests)
        port = turns(m, valids, bursts.i.valid & bursts.i.ready)
        m.d.comb += [
            bursts.i.valid.eq(valids.bit_select(port, 1)),
            bursts.i.payload.port.eq(port),
            bursts.i.payload.address.eq(Array(each.payload for each in requests)[port]),
        ]
        m.d.comb += [each.ready.eq(bursts.i.ready & (port == at)) for at, each in enumerate(requests)]

        burst = bursts.o.payload
        due = Queue(m, "due", len(burst.port) + len(burst.address), lanes.bus.outstanding)
        ask_for_bursts(m, self, "ar", bursts, lanes, due, Cat(burst.port, burst.address))
        m.d.comb += self.idle.eq(~valids.any() & ~bursts.busy & ~due.valid)
        self._answers(m, due)
        return m

    def _answers(self, m: Module, due: Queue) -> None:
        lanes, bits = self._lanes, 8 * self._lanes.bytes
        of = due.front[: max(0, len(self._ports) - 1).bit_length()]
        first = due.front[len(of) :][lanes.shift :]
        passed = Signal(range(lanes.bus.burst))  # transfers of the burst
        place = first + passed
        comes = Signal()
        m.d.comb += [self.rready.eq(due.valid), comes.eq(self.rvalid & due.valid), due.pop.eq(comes & self.rlast)]
        counts(m, passed, comes, self.rlast)
        data: Value = self.rdata.word_select(place[: lanes.lane_bits], bits)
        whole = comes
        if lanes.transfers > 1:
            part = Signal(range(lanes.transfers))
            before = Signal(bits * (lanes.transfers - 1))
            with m.If(comes):
                m.d.sync += [part.eq(part + 1), before.eq(Cat(before, data)[bits:])]
            data, whole = Cat(before, data), comes & (part == lanes.transfers - 1)
        for at in range(len(self._ports)):
            response = getattr(self, f"response{at}")
            m.d.comb += [response.valid.eq(whole & (of == at)), response.payload.eq(data)]
        note_error(m, self, self._ports, of, place << lanes.shift, Mux(comes, self.rresp, 0))
