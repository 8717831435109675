"""From what a firing's cycle follows: edges from earlier events, and the cycles that each of them takes.

An event happens as soon as all that it follows from has happened, so its cycle is the largest that any edge says. What
is behind that is a wait that no edge tells of: for the banks of a scratchpad, or for DRAM.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sim_approx.explain.record import NOBODY, Event, Record
from sim_approx.placing.build import Fabric


class Kind(enum.Enum):
    """Why an event could not be earlier. The number of an edge is that of a machine, a channel, or a memory channel."""

    BUSY = "busy"
    """The machine fired before, and is occupied for its initiation interval."""
    BEATS = "beats"
    """The port had its beat before: it presents one a cycle."""
    SENDING = "sending"
    """What the machine put before is still on its way out, word by word."""
    ARRIVAL = "arrival"
    """A token had to come."""
    FULL = "full"
    """A slot had to be freed."""
    BANDWIDTH = "bandwidth"
    """The memory channel granted another beat before."""
    CROWDED = "crowded"
    """Others were in the banks, or in the queue and on the bus of the DRAM."""


class Edge(NamedTuple):
    """``cycles`` after event ``origin``, for the reason ``kind``, of what has ``number``."""

    origin: int
    cycles: int
    kind: Kind
    number: int


@dataclass(frozen=True)
class Paces:
    """How long things take in a fabric: all that edges are made of, besides the record of a run.

    By machine its ``intervals`` and ``latencies``, by channel its ``capacities`` and its ``lags``. What is ``sized``
    handles tiles of dynamic size: how long that takes is known of the fabric of the record alone.
    """

    intervals: list[int]
    latencies: list[int]
    sized: list[bool]
    capacities: list[int]
    lags: list[int]
    memory: int
    memory_interval: int
    memory_latency: int
    channels: int
    interleave: int

    @classmethod
    def of(cls, fabric: Fabric) -> Paces:
        memory = fabric.netlist.fabric.memory
        return cls(
            [each.interval for each in fabric.machines],
            [each.latency for each in fabric.machines],
            [bool(each.sizes) for each in fabric.machines],
            [each.capacity for each in fabric.all_channels],
            [each.lag for each in fabric.all_channels],
            len(fabric.machines) - 1 if fabric.memory else NOBODY,
            memory.interval,
            memory.latency,
            memory.channels,
            memory.interleave,
        )

    def memory_channel(self, event: Event) -> int:
        """The memory channel that grants the beat ``event``."""
        return event.address // self.interleave % self.channels


class Edges:
    """The edges of the events of ``record``, which must be asked for in their order."""

    def __init__(self, record: Record, paces: Paces, latency_then: int) -> None:
        """``latency_then``: the memory's latency when the run was recorded."""
        self.record, self.paces = record, paces
        self._later = paces.memory_latency - latency_then
        self._granted: dict[int, int] = {}

    def latency(self, event: Event) -> int:
        """Cycles until what ``event`` puts enters."""
        if event.port != NOBODY:
            return event.latency + self._later
        return self.paces.latencies[event.machine]

    def of(self, number: int) -> Iterator[Edge]:
        """The edges of event ``number``; of several that say the same cycle the first one explains it best."""
        record, paces = self.record, self.paces
        event = record.events[number]
        beat = event.port != NOBODY
        if event.after != NOBODY:
            if beat:
                yield Edge(event.after, 1, Kind.BEATS, event.machine)
            else:
                last = record.events[event.after]
                gap = paces.intervals[event.machine] if last.computes else 1
                if paces.sized[event.machine]:
                    gap = last.interval
                yield Edge(event.after, gap, Kind.BUSY, event.machine)
        for origin, cycles in event.reserved:
            yield Edge(origin, cycles, Kind.SENDING, event.machine)
        for channel, token in event.reads:
            origin = record.put_by[channel][token]
            if origin != NOBODY:
                latency = record.delays.get((channel, token), self.latency(record.events[origin]))
                yield Edge(origin, latency + 1 + paces.lags[channel], Kind.ARRIVAL, channel)
        if beat:
            of_memory = paces.memory_channel(event)
            before = self._granted.get(of_memory)
            if before is not None:
                yield Edge(before, paces.memory_interval, Kind.BANDWIDTH, of_memory)
            self._granted[of_memory] = number
        for channel, token in event.puts:
            freed = token - paces.capacities[channel]
            if freed >= 0:
                yield Edge(record.taken_by[channel][freed], 1, Kind.FULL, channel)
