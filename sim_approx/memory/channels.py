"""The off-chip memory: channels of beats that the ports of the fabric share.

Written by hand, as who is served next depends on time: every cycle each port presents at most one beat, and each
memory channel grants one beat per ``interval``, to the first presenting port after the one that it granted last. With
DRAM behind it (`sim_approx.memory.dram`) a channel grants only while its queue has room, and takes the beat out of turn
whose data can pass first; what a port gets comes in the order in which it asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim_approx.engine.words import CycleClock, put_at
from sim_approx.memory.dram import DramChannel
from step.firing.machine import Channel, Machine, Starved
from step.firing.words import bits, lowest, take
from step.language.tokens import UNKNOWN, Token
from step.lowering.off_chip import MemoryConfig

ARRIVED = Token(UNKNOWN)
"""Says that a tile is there; its value travels with what the unit expects."""


@dataclass(slots=True, eq=False)
class BeatPort:
    """A port: the channel that beats are asked for or written through, and where a token comes back for a tile.

    ``beats`` are those of a tile, ``beat`` is the one presented next, and its ``address``. ``arrived``: when the last
    beat granted is there.
    """

    asks: Channel
    arrives: Channel | None
    beats: int
    writes: bool = False
    number: int = -1
    beat: int = 0
    address: int = 0
    arrived: int = -1

    @property
    def granted(self) -> int:
        """Beats that passed so far: a write is taken with its beat, a request with the last one that it is for."""
        return self.asks.taken if self.writes else self.asks.taken * self.beats + self.beat


class MemoryPorts:
    """The ports of a program's units: reads first, each kind in the order of the units."""

    def __init__(self) -> None:
        self.reads: list[BeatPort] = []
        self.writes: list[BeatPort] = []
        self.before: list[Channel] = []
        """Where something may be that is to be written, besides the channels of ``writes``."""

    def read(self, requests: Channel, arrives: Channel, beats: int) -> None:
        """A load asks for ``beats`` beats per request, and gets a token for each through ``arrives``."""
        requests.addresses = 1
        self.reads.append(BeatPort(requests, arrives, beats))

    def write(self, writes: Channel, visible: Channel | None = None, beats: int = 1) -> None:
        """A store writes one beat per token; ``visible`` gets a token when ``beats`` of them can be read."""
        writes.addresses = 1
        self.writes.append(BeatPort(writes, visible, beats, writes=True))


class OffChipMemory(Machine):
    """All memory channels, behind ``ports``.

    A tile enters its load unit's queue ``latency`` cycles after its last beat was granted or, with DRAM, after its data
    have passed; and one that was written can be read then.
    """

    def __init__(self, config: MemoryConfig, clock: CycleClock, of: MemoryPorts) -> None:
        ports = [*of.reads, *of.writes]
        for number, port in enumerate(ports):
            port.number = number
        super().__init__(
            inputs=tuple(port.asks for port in ports), outputs=tuple(port.arrives for port in ports if port.arrives)
        )
        self._clock, self.ports, self._idle = clock, ports, list(ports)
        self.before = tuple(of.before)
        self.configure(config)

    def configure(self, config: MemoryConfig) -> None:
        """Be the memory of ``config``, which has beats as wide as before; nothing was asked for yet."""
        self.config, self.latency = config, config.latency
        self._wants = [0] * config.channels
        self._later = [0] * config.channels
        self._free_at = [0] * config.channels
        self._drams = [DramChannel(config) for _ in range(config.channels)] if config.dram else []
        self._out_of_turn = [0] * config.channels
        self.last_read = self.last_write = -config.latency
        """Cycle in which the last beat is on a read port, or is visible in memory."""

    def writing(self) -> bool:
        """Whether a beat waits to be written, or its store is still to be told."""
        return any(each.tokens for each in self.before) or any(port.asks.tokens for port in self.ports if port.writes)

    def fire(self) -> int | None:
        """Do what the memory does in this cycle; starves where no port presents a beat."""
        self._idle = [port for port in self._idle if not self._present(port)]
        wanted = [channel for channel, wants in enumerate(self._wants) if wants]
        if not wanted:
            raise Starved
        now = self._clock.now
        for channel in wanted:
            if self._free_at[channel] <= now:
                winner = self._next_in_dram(channel, now) if self._drams else self._next_in_turn(channel)
                if winner >= 0:
                    self._idle.append(self._grant(channel, winner, now))
        return None

    def _present(self, port: BeatPort) -> bool:
        if not port.asks.tokens:
            return False
        port.address = port.asks.tokens[0].value + (0 if port.writes else port.beat)
        channel = port.address // self.config.interleave & (self.config.channels - 1)
        self._wants[channel] |= 1 << port.number
        return True

    def _next_in_turn(self, channel: int) -> int:
        """The port whose turn it is."""
        wants = self._wants[channel]
        return lowest(wants & self._later[channel] or wants)

    def _next_in_dram(self, channel: int, now: int) -> int:
        """The port whose data can pass first, then the one whose turn is first; -1 while the queue is full."""
        dram, clock = self._drams[channel], self._drams[channel].clock_of(now)
        if not dram.has_room(clock):
            return -1
        dram.refresh(clock)
        turn = best = self._next_in_turn(channel)
        if self._out_of_turn[channel] < dram.dram.out_of_turn:
            wants, later = self._wants[channel], self._later[channel]
            first = 0
            for number in (*bits(wants & later), *bits(wants & ~later)):
                port = self.ports[number]
                _, data = dram.plan(*dram.place(port.address), port.writes, clock)
                if number == turn or data < first:
                    best, first = number, data
        self._out_of_turn[channel] = 0 if best == turn else self._out_of_turn[channel] + 1
        return best

    def _grant(self, channel: int, number: int, now: int) -> BeatPort:
        """Serve a port; it presents its next beat in the next cycle."""
        self._wants[channel] ^= 1 << number
        self._later[channel] = -1 << (number + 1)
        self._free_at[channel] = now + self.config.interval
        port = self.ports[number]
        arrival = now
        if self._drams:
            dram = self._drams[channel]
            end = dram.grant(port.address, port.writes, dram.clock_of(now))
            arrival = dram.cycle_of(end)
        port.arrived = max(port.arrived + 1, arrival + self.config.latency)
        port.beat += 1
        if port.writes:
            take(port.asks)
            self.last_write = max(self.last_write, port.arrived)
        else:
            self.last_read = max(self.last_read, port.arrived)
        if port.beat == port.beats:
            port.beat = 0
            if not port.writes:
                take(port.asks)
            if port.arrives is not None:
                put_at(port.arrives, ARRIVED, port.arrived)
        return port
