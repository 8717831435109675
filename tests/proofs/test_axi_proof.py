"""AXI4 masters keep the protocol, for any stores and loads, and any memory that keeps it too.

An offer stays as it is until it is taken; a burst does not pass a multiple of its longest size, and so not 4 KB; data
that is written comes behind its address, and its last transfer is marked, and no other; a port gets the beats of its
bursts, and no others.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from amaranth.hdl import Assert, Assume, Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib.wiring import In
from proving import Bench
from refuting import check, proofs

from hw.axi import bursts, ports, read_master, write_master
from hw.axi.ports import Lanes, Port
from hw.verilog.modules import flat_ports
from step.lowering.bus import BusConfig

pytestmark = pytest.mark.large

BUS = BusConfig(bytes=1, burst=2, outstanding=2, address_bits=12)
HALF = 2048
"""Addresses of a port: the highest bit tells which one a burst is of."""

PORTS = Port(0, 0, 3, acknowledged=True), Port(1, 0, 2, acknowledged=True)

ASKED_AT_ONCE = '(~valid | getattr(master, f"{prefix}ready")) & due.space', "due.space"
READ = [
    ASKED_AT_ONCE,
    ("room.eq(~index)", "room.eq(lanes.bus.burst - 1)"),
    ("whole & (of == at)", "whole & (of != at)"),
    ("& due.space", ""),
    ("due.pop.eq(comes & self.rlast)", "due.pop.eq(comes)"),
]
WRITE = [
    ASKED_AT_ONCE,
    ("self.wlast.eq(passed == length)", "self.wlast.eq(passed == 1)"),
    ("beats.valid & transfers.valid", "beats.valid"),
    ("room.eq(~index)", "room.eq(lanes.bus.burst - 1)"),
    ("Mux(self.wlast, 0, passed + 1)", "passed + 1"),
]


class Stays:
    """An offer that is not taken is there in the next cycle, unchanged."""

    def __init__(self, m: Module, name: str, valid: Value, ready: Value, payload: list[Value], rule: Any) -> None:
        waited = Signal(name=f"{name}_waited")
        m.d.sync += waited.eq(valid & ~ready)
        m.d.comb += rule(~waited | valid)
        for number, each in enumerate(payload):
            before = Signal(len(each), name=f"{name}_before{number}")
            m.d.sync += before.eq(each)
            m.d.comb += rule(~waited | (each == before))


class Master(Bench):
    """What both have in common; ``given`` are the inputs of a master, which may be anything that is assumed of them."""

    def __init__(self, master: Any) -> None:
        super().__init__()
        self.master = master
        for name, member, value in flat_ports(master):
            if member.flow is In and name not in ("quiet", "cut") and not name.startswith("base"):
                self.input(name, len(Value.cast(value)))

    def feed(self, m: Module) -> None:
        """Connect what is given."""
        for name, _, value in flat_ports(self.master):
            if name in self.given:
                m.d.comb += Value.cast(value).eq(self.given[name])

    def within(self, m: Module, address: Value, length: Value) -> None:
        """A burst ends before the next multiple of the longest one."""
        m.d.comb += [Assert(address[:1] + length[:1] <= 1), Assert(length[1:] == 0)]


class Reads(Master):
    def __init__(self, module: Any) -> None:
        super().__init__(module.ReadMaster(PORTS, Lanes(1, BUS)))

    def build(self, m: Module) -> None:
        m.submodules.master = master = self.master
        self.feed(m)
        for at in range(len(PORTS)):
            request = getattr(master, f"request{at}")
            Stays(m, f"request{at}", request.valid, request.ready, [request.payload], Assume)
            m.d.comb += [Assume(request.payload < HALF // 2), getattr(master, f"base{at}").eq(at * HALF)]
        Stays(m, "ar", master.arvalid, master.arready, [master.araddr, master.arlen], Assert)
        self.within(m, master.araddr, master.arlen)
        # Bursts that memory took, and has not answered, the oldest first: their transfers but one, and their port.
        count, passed = Signal(2), Signal()
        first, second = Signal(2), Signal(2)
        takes, gives, ends = Signal(), Signal(), Signal()
        asked = Cat(master.arlen[:1], master.araddr[-1])
        m.d.comb += [
            takes.eq(master.arvalid & master.arready),
            gives.eq(master.rvalid & master.rready),
            ends.eq(gives & master.rlast),
            Assert(~takes | (count < 2)),
            Assume(~master.rvalid | ((count != 0) & (master.rlast == (passed == first[0])))),
            Assert(~master.rvalid | master.rready),
            *(Assert(getattr(master, f"response{at}").valid == (gives & (first[1] == at))) for at in range(2)),
        ]
        m.d.sync += count.eq(count + takes - ends)
        with m.If(gives):
            m.d.sync += passed.eq(~master.rlast)
        with m.If(ends):
            m.d.sync += first.eq(second)
        with m.If(takes):
            with m.If(count - ends == 0):
                m.d.sync += first.eq(asked)
            with m.Else():
                m.d.sync += second.eq(asked)


class Writes(Master):
    def __init__(self, module: Any) -> None:
        super().__init__(module.WriteMaster(PORTS, Lanes(1, BUS)))
        self.module = module

    def build(self, m: Module) -> None:
        master = self.master
        m.submodules.master = Short(master, self.module)
        self.feed(m)
        for at in range(len(PORTS)):
            store = getattr(master, f"store{at}")
            Stays(m, f"store{at}", store.valid, store.ready, [store.payload], Assume)
        Stays(m, "aw", master.awvalid, master.awready, [master.awaddr, master.awlen], Assert)
        Stays(m, "w", master.wvalid, master.wready, [master.wdata, master.wstrb, master.wlast], Assert)
        self.within(m, master.awaddr, master.awlen)
        # Bursts whose address was shown and whose data has not passed: their transfers but one, the oldest first.
        taken = Signal(init=1)
        shows, moves, ends = Signal(), Signal(), Signal()
        count, first, second, passed, unanswered = Signal(2), Signal(), Signal(), Signal(), Signal(2)
        m.d.sync += taken.eq(~master.awvalid | master.awready)
        m.d.comb += [
            shows.eq(master.awvalid & taken),
            moves.eq(master.wvalid & master.wready),
            ends.eq(moves & master.wlast),
        ]
        oldest = Mux(count == 0, master.awlen[:1], first)
        m.d.comb += [
            Assert(~shows | (count + unanswered < 2)),
            Assert(~master.wvalid | (count != 0) | shows),
            Assert(~master.wvalid | (master.wlast == (passed == oldest))),
            Assume(~master.bvalid | (unanswered != 0)),
        ]
        answered = master.bvalid & master.bready
        m.d.sync += [count.eq(count + shows - ends), unanswered.eq(unanswered + ends - answered)]
        with m.If(moves):
            m.d.sync += passed.eq(~master.wlast)
        with m.If(ends):
            m.d.sync += first.eq(second)
        with m.If(shows):
            with m.If(count - ends == 0):
                m.d.sync += first.eq(master.awlen)
            with m.Else():
                m.d.sync += second.eq(master.awlen)


class Short(Elaboratable):
    """``master`` with room for two beats: more is more of the same."""

    def __init__(self, master: Any, module: Any) -> None:
        self.master, self.module = master, module

    def elaborate(self, platform: Any) -> Elaboratable:
        with patch.object(self.module, "AHEAD", 2):
            return self.master.elaborate(platform)


@proofs(("mutants",), [(READ,)])
def test_reads(mutants: list[tuple[str, str]]) -> None:
    check(read_master, Reads, mutants, [bursts, ports])


@proofs(("mutants",), [(WRITE,)])
def test_writes(mutants: list[tuple[str, str]]) -> None:
    check(write_master, Writes, mutants, [bursts, ports])
