"""Crossing: an AXI4 bus that has another clock than its master."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, ClockDomain, Elaboratable, Module, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.axi.ports import address_channel, answer_channel, read_channel, write_channel
from hw.verilog.modules import Parametric
from step.lowering.bus import BusConfig

DEPTH = 16
"""Transfers of a channel under way between the clocks; LUT RAM has as many words."""

CHANNELS = ("ar", "r", "aw", "w", "b")


class ClockFifo:
    """`DEPTH` words between the domains ``writes`` and ``reads``; ports as `hw.axi.queue.Queue`.

    Either side sees the place of the other one in Gray code, behind two registers: too late at worst.
    """

    def __init__(self, m: Module, name: str, width: int, writes: str, reads: str) -> None:
        self.push, self.pop = Signal(name=f"{name}_push"), Signal(name=f"{name}_pop")
        self.word = Signal(width, name=f"{name}_word")
        self.valid, self.space = Signal(name=f"{name}_valid"), Signal(name=f"{name}_space")
        words = Memory(shape=width, depth=DEPTH, init=[])
        m.submodules[f"{name}_words"] = words
        write = words.write_port(domain=writes)
        read = words.read_port(domain="comb")
        head, head_gray = _counter(m, f"{name}_head", writes, self.push)
        tail, tail_gray = _counter(m, f"{name}_tail", reads, self.pop)
        head_seen, tail_seen = _seen(m, head_gray, reads), _seen(m, tail_gray, writes)
        full = tail_seen ^ (0b11 << len(tail_gray) - 2)
        m.d.comb += [write.en.eq(self.push), write.addr.eq(head), write.data.eq(self.word), read.addr.eq(tail)]
        m.d.comb += [self.space.eq(head_gray != full), self.valid.eq(tail_gray != head_seen)]
        self.front: Value = read.data


def _counter(m: Module, name: str, domain: str, moves: Value) -> tuple[Signal, Signal]:
    """A place in two rounds of the FIFO, in binary and in Gray code, both registers."""
    binary, gray = Signal(range(2 * DEPTH), name=name), Signal(range(2 * DEPTH), name=f"{name}_gray")
    following = Signal(range(2 * DEPTH), name=f"{name}_following")
    m.d.comb += following.eq(binary + moves)
    m.d[domain] += [binary.eq(following), gray.eq(following ^ following >> 1)]
    return binary, gray


def _seen(m: Module, gray: Signal, domain: str) -> Signal:
    """``gray`` behind two registers of ``domain``."""
    first, second = (Signal(len(gray), name=f"{gray.name}_{domain}{at}") for at in range(2))
    m.d[domain] += [first.eq(gray), second.eq(first)]
    return second


class Crossing(Parametric):
    """Asynchronous FIFOs, with pointers in Gray code, for the five channels.

    ``i__araddr`` and so on are those of the master, in the clock of the fabric; ``o__araddr`` those of the bus, in
    ``bus_clk``, whose reset ``bus_rst`` is up together with that of the fabric's clock for some cycles of either clock.
    Data that is written waits until its address is offered.
    """

    def __init__(self, bus: BusConfig) -> None:
        self._bus = bus
        self._fields = address_channel("ar", bus) | read_channel(bus)
        self._fields |= address_channel("aw", bus) | write_channel(bus) | answer_channel()
        members: dict[str, Any] = {}
        for name, member in self._fields.items():
            members |= {f"i__{name}": member.flip(), f"o__{name}": member}
        super().__init__({**members, "bus_clk": In(1), "bus_rst": In(1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.domains.bus = bus = ClockDomain("bus", local=True)
        m.d.comb += [bus.clk.eq(self.bus_clk), bus.rst.eq(self.bus_rst)]
        for channel in CHANNELS:
            to_bus = self._fields[f"{channel}valid"].flow is Out
            source, target = ("i", "o") if to_bus else ("o", "i")
            names = [
                name
                for name in self._fields
                if name.startswith(channel) and name not in (f"{channel}valid", f"{channel}ready")
            ]
            words, shown = (Cat(Value.cast(self._port(end, name)) for name in names) for end in (source, target))
            domains = ("sync", "bus") if to_bus else ("bus", "sync")
            fifo = ClockFifo(m, channel, len(words), *domains)
            m.d.comb += [
                fifo.word.eq(words),
                fifo.push.eq(self._port(source, f"{channel}valid") & fifo.space),
                self._port(source, f"{channel}ready").eq(fifo.space),
                shown.eq(fifo.front),
                self._port(target, f"{channel}valid").eq(fifo.valid),
                fifo.pop.eq(self._port(target, f"{channel}ready") & self._port(target, f"{channel}valid")),
            ]
            if channel == "w":
                m.d.comb += self.o__wvalid.eq(fifo.valid & self._addressed(m))
        return m

    def _addressed(self, m: Module) -> Value:
        """Whether the address of the data in front is offered, or was taken."""
        ahead = Signal(range(self._bus.outstanding + 2), init=1)  # addresses taken, but for bursts whole, and one
        taken, whole = self.o__awvalid & self.o__awready, self.o__wvalid & self.o__wready & self.o__wlast
        m.d.bus += ahead.eq(ahead + taken - whole)
        return ahead + self.o__awvalid > 1

    def _port(self, end: str, name: str) -> Any:
        return getattr(self, f"{end}__{name}")
