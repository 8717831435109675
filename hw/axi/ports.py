"""Signals of an AXI4 master, and how its ports and its bus are numbered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Module, Mux, Value
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from step.language.faults import Fault
from step.lowering.bus import BusConfig

INCR, MODIFIABLE = 1, 0b0011
"""Bursts of rising addresses; ``cache`` of plain memory."""


@dataclass(frozen=True)
class Port:
    """A memory port as its master knows it.

    ``number``: that in the fabric (`step.lowering.board.BoardPort`). ``first``: the beat address that stands for the
    base. ``beats`` of a tile; ``acknowledged``: a store that is told of what is written.
    """

    number: int
    first: int
    beats: int
    acknowledged: bool = False


@dataclass(frozen=True)
class Lanes:
    """Places of beats of ``beat`` bytes in transfers of a ``bus``; both are powers of two.

    A beat wider than the bus takes ``transfers`` of them. A narrower one takes one that uses part of the bus
    (a narrow transfer: A3.4.3 of the standard), one of ``lanes``.
    """

    beat: int
    bus: BusConfig

    @property
    def bytes(self) -> int:
        """Bytes of a transfer that mean something."""
        return min(self.beat, self.bus.bytes)

    @property
    def shift(self) -> int:
        """Bits of an address below a transfer."""
        return self.bytes.bit_length() - 1

    @property
    def transfers(self) -> int:
        """Transfers of a beat."""
        return max(1, self.beat // self.bus.bytes)

    @property
    def lanes(self) -> int:
        """Beats side by side on the bus."""
        return max(1, self.bus.bytes // self.beat)

    @property
    def lane_bits(self) -> int:
        """Bits of the number of a lane, of which there may be more than transfers in a burst."""
        return (self.lanes - 1).bit_length()

    @property
    def index_bits(self) -> int:
        """Bits of the number of a transfer within the longest burst."""
        return (self.bus.burst - 1).bit_length()

    def burst(self, ports: int) -> StructLayout:
        """A burst: of which of so many ``ports``, its first address, its transfers but one, the last of its tile."""
        bits = {"port": range(ports), "address": self.bus.address_bits, "length": max(1, self.index_bits), "last": 1}
        return StructLayout(bits)


def address_channel(prefix: str, bus: BusConfig) -> dict[str, Any]:
    """Members of AR or AW; ``prefix`` is ``ar`` or ``aw``."""
    length, lock = (4, 2) if bus.protocol == "AXI3" else (8, 1)
    fields = {"id": 1, "addr": bus.address_bits, "len": length, "size": 3, "burst": 2}
    fields |= {"lock": lock, "cache": 4, "prot": 3, "qos": 4, "valid": 1}
    return {**{f"{prefix}{name}": Out(width) for name, width in fields.items()}, f"{prefix}ready": In(1)}


def read_channel(bus: BusConfig) -> dict[str, Any]:
    """Members of R."""
    data = {"rid": In(1), "rdata": In(8 * bus.bytes), "rresp": In(2), "rlast": In(1)}
    return {**data, "rvalid": In(1), "rready": Out(1)}


def write_channel(bus: BusConfig) -> dict[str, Any]:
    """Members of W."""
    data = {"wid": Out(1)} if bus.protocol == "AXI3" else {}
    data |= {"wdata": Out(8 * bus.bytes), "wstrb": Out(bus.bytes), "wlast": Out(1)}
    return {**data, "wvalid": Out(1), "wready": In(1)}


def answer_channel() -> dict[str, Any]:
    """Members of B."""
    return {"bid": In(1), "bresp": In(2), "bvalid": In(1), "bready": Out(1)}


def ask_for_bursts(m: Module, master: Any, prefix: str, bursts: Any, lanes: Lanes, due: Any, word: Value) -> None:
    """Offer the addresses of ``bursts``, and keep a ``word`` of each that is ``due``.

    All else is the same in every burst: one ID, so all answers come in order.
    """
    valid, address, length = (getattr(master, f"{prefix}{each}") for each in ("valid", "addr", "len"))
    m.d.comb += [
        bursts.o.ready.eq((~valid | getattr(master, f"{prefix}ready")) & due.space),
        due.push.eq(bursts.o.valid & bursts.o.ready),
        due.word.eq(word),
        getattr(master, f"{prefix}size").eq(lanes.shift),
        getattr(master, f"{prefix}burst").eq(INCR),
        getattr(master, f"{prefix}cache").eq(MODIFIABLE),
    ]
    with m.If(due.push):
        m.d.sync += [valid.eq(1), address.eq(bursts.o.payload.address), length.eq(bursts.o.payload.length)]
    with m.Elif(getattr(master, f"{prefix}ready")):
        m.d.sync += valid.eq(0)


FAULT: dict[str, Any] = {"fault": Out(4), "fault_port": Out(8), "fault_address": Out(64), "quiet": In(1)}
"""Members of a master: the code of its first error since ``quiet``, the number of its port, and its byte address."""


def note_error(m: Module, master: Any, ports: tuple[Port, ...], port: Value, address: Value, response: Value) -> None:
    """Keep the first erroneous ``response``, which is OKAY where there is none; ``port`` is its place in ``ports``."""
    with m.If(master.quiet):
        m.d.sync += master.fault.eq(0)
    with m.Elif(response[1] & (master.fault == 0)):
        m.d.sync += [
            master.fault.eq(Mux(response[0], Fault.NO_DEVICE, Fault.BUS_ERROR)),
            master.fault_port.eq(Array(each.number for each in ports)[port]),
            master.fault_address.eq(address),
        ]
