"""What happens in a run, firing by firing, noted while the Python engine runs.

An event is a firing of a machine, or a beat that a memory channel grants to a port. It has what it read, took and put,
by the numbers of channels and tokens: all that its cycle follows from (`sim_approx.explain.edges`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from sim_approx.engine.events import Ending, Engine, Events, Sized, Told, Watch, Watched, Watcher
from sim_approx.engine.profile import Counted
from sim_approx.engine.words import Clock, Delayed
from sim_approx.memory.channels import Memory, Port
from step.firing.machine import COMPUTES, ENDS, Channel, Entrance, Machine, Starved, Waits
from step.language.tokens import Token
from step.running.result import Activity

Place = tuple[int, int]
"""A channel, and which of its tokens."""

NOBODY = -1


@dataclass(slots=True, eq=False)
class Event:
    """A firing of ``machine`` in ``cycle``, or a beat for a port of the memory, which then is the machine.

    ``after`` is the firing before it, of the machine, or the beat before it, of the port (`NOBODY`: it is the first).
    It is the event that ``reads``, ``takes`` and ``puts`` tokens, these so much ``latency`` before they enter. A firing
    that ``computes`` occupies its machine for the ``interval``.
    ``reserved`` are the events, with the cycles, that kept its outputs closed. A beat has its ``port`` and ``address``;
    of firings, ``port`` is `NOBODY`.
    """

    machine: int
    cycle: int
    after: int
    latency: int
    port: int = NOBODY
    address: int = 0
    computes: bool = False
    interval: int = 1
    ends: bool = False
    reads: Sequence[Place] = ()
    takes: Sequence[Place] = ()
    puts: Sequence[Place] = ()
    reserved: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """A ``machine`` did not fire in the cycles from ``since`` to before ``until``: for want of a token of ``channel``,
    or of space in it. None: others were in the banks that it wanted."""

    machine: int
    activity: Activity
    channel: int | None
    since: int
    until: int


@dataclass(eq=False)
class Record:
    """All ``events`` of a run in the order of time, and the ``waits`` between them.

    By channel, ``put_by`` and ``taken_by`` have the event of every token; those that were there at the start were put
    by `NOBODY`. ``delays``: of tiles of dynamic size, the cycles from the event that put one until it enters, or
    its words are gathered.
    """

    events: list[Event] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    put_by: list[list[int]] = field(default_factory=list)
    taken_by: list[list[int]] = field(default_factory=list)
    delays: dict[Place, int] = field(default_factory=dict)


class RecordingEngine(Engine):
    """The engine, which notes in ``record`` what happens."""

    def __init__(
        self,
        machines: Sequence[Machine],
        channels: Sequence[Channel],
        clock: Clock,
        memory: Memory | None,
        watch: Watch,
        record: Record,
    ) -> None:
        super().__init__(machines, channels, clock, memory, watch)
        self._record = record
        self._numbers = {channel: number for number, channel in enumerate(channels)}
        entrances = ((number, getattr(channel, "entering", None)) for number, channel in enumerate(channels))
        self._sized = {number: each for number, each in entrances if isinstance(each, Sized)}
        self._last = [NOBODY] * len(machines)
        self._last_beat = [NOBODY] * (len(memory.ports) if memory else 0)
        self._waiting: dict[Machine, tuple[Activity, tuple[Channel, ...], int]] = {}
        self._reserved: dict[int, tuple[int, int]] = {}
        self._reads: dict[Place, None] = {}
        self._puts: list[Place] = []
        self._noted_before = 0, 0
        self._beat: Event | None = None
        for number, channel in enumerate(channels):
            record.put_by.append([NOBODY] * len(channel.tokens))
            record.taken_by.append([])
            channel.tokens = _Noted(channel, watch.get(channel, Watcher(_unseen)), partial(self._read, number))
            if hasattr(channel, "entering"):  # pages that are free at the start came from nobody
                channel.entering = _NotedEntrance(channel.entering, partial(self._put, number))
        if memory is not None:
            memory.told = self._granted
        self.attempt = self._noted

    def run(
        self,
        max_cycles: int | None = None,
        events: Events | None = None,
        told: Told | None = None,
        jump: bool = True,
        counted: Counted | None = None,
    ) -> Ending:
        """As `Engine.run`; waits are noted up to the end of the run."""
        ending = super().run(max_cycles, events, told, jump, counted)
        for machine in list(self._waiting):
            self._waited(machine, ending.cycles)
        waits = self._record.waits
        waits[:] = [replace(each, until=min(each.until, ending.cycles)) for each in waits if each.since < ending.cycles]
        return ending

    def _noted(self, machine: Machine) -> int | None:
        """Try ``machine``, and note what comes of it."""
        now = self._clock.now
        if machine is self._memory:
            return self._served(self._memory)
        self._begin()
        self._waited(machine, now)
        try:
            outcome = machine.fire()
        except Waits as wait:
            activity = Activity.STARVED if isinstance(wait, Starved) else Activity.BLOCKED
            self._waiting[machine] = activity, wait.args, now
            raise
        event = Event(machine.order, now, self._last[machine.order], machine.latency)
        event.computes, event.ends = outcome == COMPUTES, outcome == ENDS
        if event.computes:
            event.interval = machine.interval
        event.reads = tuple(self._reads)
        self._last[machine.order] = len(self._record.events)
        self._finish(event)
        return outcome

    def _served(self, memory: Memory) -> int | None:
        """Try the memory, in which every beat that is granted is an event."""
        first = len(self._record.events)
        outcome = memory.fire()
        if self._beat is not None:
            self._finish(self._beat)
            self._beat = None
        for event in self._record.events[first:]:
            event.latency = memory.ports[event.port].arrived - event.cycle
        return outcome

    def _granted(self, port: Port) -> None:
        """The memory grants a beat to ``port``, and is done with the one that it granted before in this cycle."""
        assert self._memory is not None
        if self._beat is not None:
            self._finish(self._beat)
        self._begin()
        event = Event(self._memory.order, self._clock.now, self._last_beat[port.number], 0, port.number, port.address)
        event.reads = ((self._numbers[port.asks], port.asks.taken),)
        self._last_beat[port.number] = len(self._record.events)
        self._beat = event

    def _begin(self) -> None:
        self._reads.clear()
        self._puts.clear()
        self._noted_before = len(self._freed), len(self._closing)

    def _finish(self, event: Event) -> None:
        """What happened since `_begin` was ``event``."""
        record, number = self._record, len(self._record.events)
        freed, closing = self._noted_before
        if self._reserved:
            event.reserved = tuple(self._reserved[each] for each, _ in self._puts if each in self._reserved)
        for channel, cycles in self._closing[closing:]:
            self._reserved[self._numbers[channel]] = number, cycles
        for channel in self._freed[freed:]:
            record.taken_by[self._numbers[channel]].append(number)
        event.takes = tuple((self._numbers[each], each.taken - 1) for each in self._freed[freed:])
        event.puts = tuple(self._puts)
        for place in event.puts:
            if place[0] in self._sized:
                sized = self._sized[place[0]]
                record.delays[place] = sized.last + sized.gathers - event.cycle
        record.events.append(event)

    def _read(self, number: int, channel: Channel) -> None:
        self._reads[number, channel.taken] = None

    def _put(self, number: int) -> None:
        put_by = self._record.put_by[number]
        self._puts.append((number, len(put_by)))
        put_by.append(len(self._record.events))

    def _waited(self, machine: Machine, now: int) -> None:
        """``machine`` is tried again in cycle ``now``, or the run ends before it."""
        activity, channels, since = self._waiting.pop(machine, (Activity.BUSY, (), now))
        if since < now:
            come = [each for each in channels if activity == Activity.BLOCKED or each.tokens]
            awaited = next(iter(come or channels), None)
            number = None if awaited is None else self._numbers[awaited]
            if awaited is not None and awaited.tokens and number is not None:
                self._reads[number, awaited.taken] = None
            self._record.waits.append(Wait(machine.order, activity, number, since, now))


class _Noted(Watched):
    """The tokens of ``channel``; that one was looked at is told to ``read``."""

    def __init__(self, channel: Channel, watcher: Watcher, read: Callable[[Channel], None]) -> None:
        super().__init__(watcher)
        self.extend(channel.tokens)
        self._channel, self._read = channel, read

    def __getitem__(self, index: Any) -> Any:
        self._read(self._channel)
        return super().__getitem__(index)


class _NotedEntrance:
    """An ``entrance``; that something goes in is told to ``put``."""

    __slots__ = ("_entrance", "_put")

    def __init__(self, entrance: Entrance, put: Callable[[], None]) -> None:
        self._entrance, self._put = entrance, put

    def append(self, item: tuple[Channel, Token]) -> None:
        self._put()
        self._entrance.append(item)

    def at(self, cycle: int, item: tuple[Channel, Token]) -> None:
        self._put()
        cast(Delayed, self._entrance).at(cycle, item)


def _unseen(_: Token) -> None:
    """Nobody wants to see the tokens."""
