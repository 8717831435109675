"""A fabric that is reset at any time, in front of a memory that knows nothing of that (Amaranth's simulator)."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import ClockDomain, Elaboratable, Module, ResetSignal, Signal
from assembly import Assembly, beats_of
from driving import drive

from cosim.running.bench_run import source_transfers
from hw.fabric import elaborate
from step.lowering.netlist import Netlist
from step.programs.data.inputs import BoundInputs

PATIENCE = 20_000
"""Cycles after which a run hangs."""

Seen = list[tuple[int, str, list[int]]]
"""What sinks handed out: the cycle of the run, the sink, and the parts of the transfer that mean something."""


@dataclass
class Memory:
    """Beats of ``image``, as `sim_memory` serves them: a beat a cycle and port, a request is taken with its last one.

    ``damaged``: what is read is wrong, so nobody may take it for what a later run reads. ``eager``: a port is served in
    every cycle, else in two of three.
    """

    image: list[int]
    latency: int
    eager: bool = True
    damaged: bool = False
    cycle: int = 0
    offered: dict[str, tuple[int, int]] = field(default_factory=dict)  # by port: what stands, and beats that were read
    coming: dict[str, deque[tuple[int, int]]] = field(default_factory=dict)
    landing: dict[str, deque[tuple[int, int, int]]] = field(default_factory=dict)

    def offers(self, port: str, payload: int | None) -> None:
        """See what a port offers, or None; raises `AssertionError` where it took back or changed what it offered."""
        if port in self.offered:
            assert payload == self.offered[port][0], f"{port} takes back what it offered, in cycle {self.cycle}"
        elif payload is not None:
            self.offered[port] = payload, 0

    def serves(self, port: str) -> bool:
        """Whether memory does something for the port in this cycle."""
        return port in self.offered and (self.eager or (self.cycle + len(port)) % 3 > 0)

    def read(self, port: str, beats: int, bits: int) -> bool:
        """Read a beat for a port; returns whether it was the last one of its request."""
        address, beat = self.offered[port]
        data = self.image[address + beat] ^ (((1 << bits) - 1) * self.damaged)
        self.coming.setdefault(port, deque()).append((self.cycle + self.latency, data))
        self.offered[port] = address, beat + 1
        if beat + 1 == beats:
            del self.offered[port]
        return beat + 1 == beats

    def write(self, port: str) -> None:
        """Take a beat of a port."""
        payload, _ = self.offered.pop(port)
        self.landing.setdefault(port, deque()).append((self.cycle + self.latency, payload & 0xFFFFFFFF, payload >> 32))

    def answer(self, port: str) -> int | None:
        """The beat that comes back in this cycle, or None."""
        coming = self.coming.get(port)
        return coming.popleft()[1] if coming and coming[0][0] <= self.cycle else None

    def land(self, port: str) -> bool:
        """Whether a beat becomes visible in this cycle."""
        landing = self.landing.get(port)
        if not landing or landing[0][0] > self.cycle:
            return False
        _, address, beat = landing.popleft()
        self.image[address] = beat
        return True


class Board(Elaboratable):
    """The fabric of ``netlist`` with its ``reset``, and the ``memory`` behind it."""

    def __init__(self, netlist: Netlist, data: BoundInputs, latency: int = 3, *, eager: bool = True) -> None:
        self.fabric = fabric = elaborate(netlist)
        self.top = Assembly(fabric.structure)
        self.reset, self.memory_reset = Signal(), getattr(self.top, "memory_rst", Signal())
        self.bits = 8 * netlist.fabric.memory.beat_bytes
        self.beats = beats_of(netlist, data)
        self.memory = Memory(list(self.beats), latency, eager)
        self.sources = source_transfers(netlist, data)
        self.sinks = [node.name for node in netlist.units if node.operator.hands_out]
        self.loads, self.stores = fabric.memory.loads, fabric.memory.stores

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.sync = ClockDomain()
        m.submodules.top = self.top
        m.d.comb += ResetSignal().eq(self.reset)
        return m

    def play(self, bench: Callable[[Any], Awaitable[None]]) -> None:
        """Run ``bench``, which gets the context of the simulation."""
        drive(self, bench)

    def _port(self, name: str) -> Any:
        return getattr(self.top, name)

    async def run(self, context: Any, most: int | None = None) -> Seen:
        """A run from its beginning to its end, or of ``most`` cycles."""
        waiting = {name: deque(transfers) for name, transfers in self.sources.items()}
        done, seen, cycle = set[str](), [], 0
        while cycle != most and not (self._over(context) and done == set(self.sinks)):
            assert cycle < PATIENCE, "the run hangs"
            for name, left in waiting.items():
                self.top.offer(context, name, left[0] if left else None)
                if left and context.get(self._port(f"{name}_tready")):
                    left.popleft()
            for name in self.sinks:
                ready = cycle % 3 > 0
                context.set(self._port(f"{name}_tready"), ready)
                if context.get(self._port(f"{name}_tvalid")):
                    user, *others = (context.get(signal) for signal in self.top.parts(name))
                    data = context.get(self._port(f"{name}_tdata")) if hasattr(self.top, f"{name}_tdata") else 0
                    assert user & 2 or data == 0, f"{name} shows what a memory holds without a value, in cycle {cycle}"
                    seen.append((cycle, name, [user, *(others if user & 2 else [])]))
                    done |= {name} if ready and user & 1 else set()
            await self._tick(context)
            cycle += 1
        return seen

    def _over(self, context: Any) -> bool:
        """Every store has handled Done, and what it wrote can be seen."""
        return bool(context.get(self.top.done)) and not self.memory.offered and not any(self.memory.landing.values())

    async def restart(self, context: Any, cycles: int = 1, *, forget: bool = False) -> None:
        """Reset the fabric, which memory does not see, or is reset with it to ``forget`` what it was asked for."""
        context.set(self.reset, 1)
        context.set(self.memory_reset, forget)
        for name in self.sources:
            context.set(self._port(f"{name}_tvalid"), 0)
        for _ in range(cycles):
            await self._tick(context)
        context.set(self.reset, 0)
        context.set(self.memory_reset, 0)
        if forget:
            for state in (self.memory.offered, self.memory.coming, self.memory.landing):
                state.clear()

    async def _tick(self, context: Any) -> None:
        """The ports of memory in this cycle, and its end."""
        memory = self.memory
        for name in self.loads:
            beat = memory.answer(name)
            context.set(self._port(f"{name}__response__valid"), beat is not None)
            context.set(self._port(f"{name}__response__payload"), beat or 0)
            valid, payload = (context.get(self._port(f"{name}__request__{part}")) for part in ("valid", "payload"))
            memory.offers(name, payload if valid else None)
            taken = memory.serves(name) and memory.read(name, self.loads[name].beats_per_tile, self.bits)
            context.set(self._port(f"{name}__request__ready"), taken)
        for name in self.stores:
            visible = memory.land(name)
            if hasattr(self.top, f"{name}__written"):
                context.set(self._port(f"{name}__written"), visible)
            valid, payload = (context.get(self._port(f"{name}__{part}")) for part in ("valid", "payload"))
            memory.offers(name, payload if valid else None)
            taken = memory.serves(name)
            context.set(self._port(f"{name}__ready"), taken)
            if taken:
                memory.write(name)
        memory.cycle += 1
        await context.tick()


def plain(seen: Seen) -> dict[str, list[list[int]]]:
    """What each sink handed out, without the cycles; a transfer that waited is there once."""
    found: dict[str, list[list[int]]] = {}
    for cycle, name, parts in seen:
        if cycle % 3 > 0:
            found.setdefault(name, []).append(parts)
    return found
