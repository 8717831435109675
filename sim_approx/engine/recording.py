"""The Python engine that notes what every firing of a run waited for (`sim_approx.engine.record`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from sim_approx.engine.events import Ending, Events, PythonEngine, Told, Watch
from sim_approx.engine.profile import Counted
from sim_approx.engine.record import FIRED, NOBODY, WAIT, Reason, RunRecord
from sim_approx.engine.words import Crowded, CycleClock, Delayed
from sim_approx.memory.channels import BeatPort, OffChipMemory
from step.firing.machine import Channel, Entrance, Machine, Pace, Sizes, Starved, Waits
from step.language.faults import Violation
from step.language.tokens import Token
from step.running.result import Activity

Bound = tuple[Reason, int, int]
"""A kind, an origin, and the number of a channel."""


@dataclass(slots=True, eq=False)
class _Last:
    """The state of a machine: its last firing, what it waits for since when, and what bound it when that came."""

    event: int = NOBODY
    waits: bool = False
    activity: Activity = Activity.STARVED
    kind: Reason = Reason.AFTER
    since: int = 0
    wanted: tuple[int, ...] = ()
    awaited: int = NOBODY
    bound: Bound = (Reason.AFTER, NOBODY, 0)


class RecordingEngine(PythonEngine):
    """The Python engine, which notes in ``record`` what happens."""

    def __init__(
        self,
        machines: Sequence[Machine],
        channels: Sequence[Channel],
        clock: CycleClock,
        memory: OffChipMemory | None,
        watch: Watch,
        record: RunRecord,
    ) -> None:
        super().__init__(machines, channels, clock, memory, watch)
        self._record = record
        self._numbers = {channel: number for number, channel in enumerate(channels)}
        self._last = [_Last() for _ in machines]
        ports = len(memory.ports) if memory else 0
        self._beats, self._granted_last = [(NOBODY, 0)] * ports, dict[int, tuple[int, int]]()
        self._put_by = [deque([NOBODY] * len(channel.tokens)) for channel in channels]
        self._reserved_by = [NOBODY] * len(channels)
        self._taken_by = [(NOBODY, NOBODY, -1)] * len(channels)
        """By channel, the event that took a token last, the one before it in an earlier cycle, and the cycle."""
        self._events: list[tuple[int, ...]] = []
        self._waits: list[tuple[int, ...]] = []
        self._beat: tuple[BeatPort, Bound, int] | None = None
        self._before = 0, 0
        for machine in machines:
            if machine.sizes is not None:
                machine.sizes = _Rows(machine.sizes)
        for number, channel in enumerate(channels):
            if hasattr(channel, "entering"):  # pages that are free at the start came from nobody
                channel.entering = _NotedEntrance(channel.entering, self._put_by[number], self._events)
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
        """`PythonEngine.run`, with waits noted up to the end of the run."""
        ending = super().run(max_cycles, events, told, jump, counted)
        for order, last in enumerate(self._last):
            if last.waits:
                self._bind(last, ending.cycles)
                self._close(last, order, ending.cycles)
        self._record.fill(np.array(self._events, FIRED), np.array(self._waits, WAIT), ending.cycles)
        return ending

    def _noted(self, machine: Machine) -> int | None:
        """Try ``machine``, and note what comes of it."""
        now = self._clock.now
        if machine is self._memory:
            return self._served(self._memory, now)
        last = self._last[machine.order]
        if last.waits:
            self._bind(last, now)
        self._before = len(self._freed), len(self._closing)
        try:
            outcome = machine.fire()
        except Waits as wait:
            self._waited(last, machine.order, wait, now)
            raise
        except Violation:
            self._close(last, machine.order, now)
            raise
        late = now - last.since if last.waits and last.kind == Reason.CROWDED else 0
        if not last.waits:
            last.bound = Reason.AFTER, last.event, 0
        self._close(last, machine.order, now)
        kind, origin, number = last.bound
        last.event = len(self._events)
        rows = 0 if machine.sizes is None else cast(_Rows, machine.sizes).last
        self._finish((now, origin, machine.order, number, late, rows, kind, outcome or 0))
        return outcome

    def _waited(self, last: _Last, order: int, wait: Waits, now: int) -> None:
        """The machine could not fire, for the reason ``wait``, with which an earlier wait may go on."""
        kind = (
            Reason.ARRIVAL
            if isinstance(wait, Starved)
            else Reason.CROWDED
            if isinstance(wait, Crowded)
            else Reason.FULL
        )
        if kind == Reason.FULL and wait.args[0].closed:
            kind = Reason.SENDING
        wanted = tuple(self._numbers[each] for each in wait.args)
        if last.waits and (last.kind, last.wanted) == (kind, wanted):
            return
        waited = last.waits
        self._close(last, order, now)
        if kind == Reason.CROWDED and not waited:
            last.bound = Reason.AFTER, last.event, 0
        last.waits, last.since, last.kind, last.wanted, last.awaited = True, now, kind, wanted, NOBODY
        last.activity = Activity.STARVED if kind == Reason.ARRIVAL else Activity.BLOCKED

    def _bind(self, last: _Last, now: int) -> None:
        """Note that what the machine waited for has come now, or that the run ends."""
        if last.kind == Reason.CROWDED:
            return
        come = [each for each in last.wanted if last.kind != Reason.ARRIVAL or self._channels[each].tokens]
        at = last.awaited = (come or last.wanted)[0]
        match last.kind:
            case Reason.FULL:
                taken, before, cycle = self._taken_by[at]
                origin = before if cycle == now else taken
            case Reason.SENDING:
                origin = self._reserved_by[at]
            case _:
                origin = next(iter(self._put_by[at]), NOBODY)
        last.bound = last.kind, origin, at

    def _close(self, last: _Last, order: int, now: int) -> None:
        if last.waits and last.since < now:
            self._waits.append((last.since, now, order, last.awaited, last.activity))
        last.waits = False

    def _served(self, memory: OffChipMemory, now: int) -> int | None:
        """Try the memory, in which every beat that is granted is an event."""
        outcome = memory.fire()
        self._beat_is_over()
        return outcome

    def _granted(self, port: BeatPort) -> None:
        """The memory grants a beat to ``port``, and is done with the one that it granted before in this cycle."""
        self._beat_is_over()
        assert self._memory is not None
        now, asks, config = self._clock.now, port.asks, self._memory.config
        of = port.address // config.interleave % config.channels
        number = self._numbers[asks]
        edges: list[tuple[int, Reason, int]] = []
        for kind, origin, cycle in (
            (Reason.BEATS, self._beats[port.number][0], self._beats[port.number][1] + 1),
            (Reason.ARRIVAL, self._put_by[number][0], asks.available),
            (Reason.BANDWIDTH, *_later(self._granted_last.get(of, (NOBODY, 0)), config.interval)),
        ):
            if origin != NOBODY:
                edges.append((cycle, kind, origin))
        cycle, kind, origin = max(edges, key=lambda each: each[0])
        self._beats[port.number] = self._granted_last[of] = len(self._events), now
        self._beat = port, (kind, origin, port.address), now - cycle
        self._before = len(self._freed), len(self._closing)

    def _beat_is_over(self) -> None:
        if self._beat is None:
            return
        assert self._memory is not None
        now = self._clock.now
        port, (kind, origin, address), late = self._beat
        machine = self._memory.order + port.number
        self._finish((now, origin, machine, address, late, port.arrived - now, kind, 0))
        self._beat = None

    def _finish(self, event: tuple[int, ...]) -> None:
        """Note that ``event`` is all that happened since the last one."""
        freed, closing = self._before
        for channel in self._freed[freed:]:
            number = self._numbers[channel]
            self._put_by[number].popleft()
            taken, before, cycle = self._taken_by[number]
            now = self._clock.now
            self._taken_by[number] = len(self._events), before if cycle == now else taken, now
        for channel, _ in self._closing[closing:]:
            self._reserved_by[self._numbers[channel]] = len(self._events)
        self._events.append(event)


def _later(granted: tuple[int, int], interval: int) -> tuple[int, int]:
    """The event, and the cycle that is so much later."""
    return granted[0], granted[1] + interval


class _Rows:
    """The ``sizes`` of a machine; ``last`` are the rows that it was asked for last."""

    __slots__ = ("_sizes", "last")

    def __init__(self, sizes: Sizes) -> None:
        self._sizes, self.last = sizes, NOBODY

    def __call__(self, rows: int) -> Pace:
        self.last = rows
        return self._sizes(rows)


class _NotedEntrance:
    """An ``entrance``; whatever goes in was put by the event that comes behind ``events``."""

    __slots__ = ("_entrance", "_events", "_put_by")

    def __init__(self, entrance: Entrance, put_by: deque[int], events: list[tuple[int, ...]]) -> None:
        self._entrance, self._put_by, self._events = entrance, put_by, events

    def append(self, item: tuple[Channel, Token]) -> None:
        self._put_by.append(len(self._events))
        self._entrance.append(item)

    def at(self, cycle: int, item: tuple[Channel, Token]) -> None:
        self._put_by.append(len(self._events))
        cast(Delayed, self._entrance).at(cycle, item)
