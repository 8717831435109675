"""The off-chip memory: channels of beats that the ports of the fabric share.

Written by hand, as who is served next depends on time: every cycle each port presents at most one beat, and each
memory channel grants one beat per ``interval``, to the first presenting port after the one that it granted last.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim_approx.machine import Channel, Clock, Machine, Starved, put, take
from step.language.tokens import UNKNOWN, Token
from step.lowering.fabric import MemoryConfig

ARRIVED = Token(UNKNOWN)
"""Says that a tile is there; its value travels with what the unit expects."""


@dataclass(slots=True, eq=False)
class Port:
    """A port: the channel that beats are asked for or written through, and where a token comes back for a tile.

    ``beats`` are those of a tile, ``beat`` is the one presented next.
    """

    number: int
    asks: Channel
    arrives: Channel | None
    beats: int
    writes: bool = False
    beat: int = 0


class Memory(Machine):
    """All ports and channels. Ports are numbered reads first, each kind in the order of the units.

    A tile enters its load unit's queue ``latency`` cycles after its last beat was granted, and one that was written can
    be read then.
    """

    __slots__ = (
        "_clock",
        "_free_at",
        "_idle",
        "_later",
        "_reads",
        "_waiting",
        "_wants",
        "_writes",
        "config",
        "last_read",
        "last_write",
        "ports",
    )

    def __init__(self, config: MemoryConfig, clock: Clock) -> None:
        super().__init__(inputs=(), outputs=(), latency=config.latency)
        self.config, self._clock = config, clock
        self.ports: list[Port] = []
        self._reads: list[Port] = []
        self._writes: list[Port] = []
        self._wants = [0] * config.channels
        self._later = [0] * config.channels
        self._free_at = [0] * config.channels
        self._waiting = 0
        self.last_read = self.last_write = -config.latency
        """Cycle in which the last beat granted is on the read port, or is visible in memory."""

    def read_port(self, requests: Channel, arrives: Channel, beats: int) -> None:
        """A load asks for ``beats`` beats per request, and gets a token for each through ``arrives``."""
        self._reads.append(Port(0, requests, arrives, beats))

    def write_port(self, writes: Channel, visible: Channel | None = None, beats: int = 1) -> None:
        """A store writes one beat per token; ``visible`` gets a token when ``beats`` of them can be read."""
        self._writes.append(Port(0, writes, visible, beats, writes=True))

    def close(self) -> bool:
        """Number the ports; returns whether there are any."""
        self.ports = [*self._reads, *self._writes]
        for number, port in enumerate(self.ports):
            port.number = number
        self._idle = list(self.ports)
        self.inputs = tuple(port.asks for port in self.ports)
        self.outputs = tuple(port.arrives for port in self.ports if port.arrives)
        return bool(self.ports)

    def writing(self) -> bool:
        """Whether a beat waits to be written."""
        return any(port.asks.tokens for port in self._writes)

    def fire(self) -> int | None:
        """What the memory does in this cycle; starves where no port presents a beat."""
        idle = [port for port in self._idle if not self._present(port)]
        if not self._waiting:
            self._idle = idle
            for port in idle:
                port.asks.reader_waits = True
            raise Starved
        now, waiting, rest = self._clock.now, self._waiting, 0
        while waiting:
            low = waiting & -waiting
            waiting ^= low
            channel = low.bit_length() - 1
            if self._free_at[channel] <= now:
                idle.append(self._grant(channel, now))
            if self._wants[channel]:
                rest |= low
        self._waiting = rest
        self._idle = idle
        return None

    def _present(self, port: Port) -> bool:
        if not port.asks.tokens:
            return False
        channel = (port.asks.tokens[0].value + (0 if port.writes else port.beat)) & (self.config.channels - 1)
        self._wants[channel] |= 1 << port.number
        self._waiting |= 1 << channel
        return True

    def _grant(self, channel: int, now: int) -> Port:
        """Serve the port whose turn it is; it presents its next beat in the next cycle."""
        wants = self._wants[channel]
        candidates = wants & self._later[channel] or wants
        winner = candidates & -candidates
        self._wants[channel] = wants ^ winner
        self._later[channel] = ~(winner | (winner - 1))
        self._free_at[channel] = now + self.config.interval
        port = self.ports[winner.bit_length() - 1]
        port.beat += 1
        if port.writes:
            take(port.asks)
            self.last_write = now + self.latency
        else:
            self.last_read = now + self.latency
        if port.beat == port.beats:
            port.beat = 0
            if not port.writes:
                take(port.asks)
            if port.arrives is not None:
                put(port.arrives, ARRIVED)
        return port
