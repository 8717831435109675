"""The event engine: runs machines in global time, skipping cycles in which nothing can happen.

Channels are registered: what is put in one cycle is seen in the next, and so are freed slots. So within a cycle the
order of the machines does not matter (but among those that contend for a thing), and a machine that could not fire has
to be tried again only when the channel that it waits for changes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from sim_approx.engine.words import Crowded
from sim_approx.placing.site import PlacedFabric
from step.firing.machine import COMPUTES, UNLIMITED, Channel, Machine, Starved, Unread, Waits
from step.language.faults import Violation, rows_of
from step.language.tokens import UNKNOWN, Token
from step.running.result import Activity, Status, control_word

BETWEEN = 4096
"""Cycles in which something happens between two moments in which progress is told: some 0.1 s in large programs."""

STARVED, BUSY, BLOCKED, FINISHED = map(int, Activity)

Entry = tuple[Channel, Token]
EVENT = np.dtype([("cycle", np.int64), ("channel", np.int32), ("control", np.int32)])
"""A token that enters a channel of the program; one that leaves has no control."""


class EventLog:
    """Tokens that ``entered`` channels of the program, and that ``left``: rows of `EVENT`."""

    def __init__(self) -> None:
        self.entered: Any = []
        self.left: Any = []


class Watcher(NamedTuple):
    """A reader that is to ``see`` the control of all tokens in a channel; with ``rows`` values are numbers of rows."""

    see: Callable[[Token], None]
    rows: bool = False

    def told(self, token: Token) -> None:
        """Show ``token``."""
        known = rows_of(token.value) if self.rows and token.has_value else UNKNOWN
        self.see(token._replace(value=known) if token.has_value else token)


Watch = Mapping[Channel, Watcher]

Told = Callable[[int, int], None]
"""Told every now and then in a run: the cycle, and the tokens that entered the channels of the program by then."""

Faults = list[tuple[Machine, Violation]]


@dataclass(frozen=True)
class Ending:
    """The end of a run after so many ``cycles``, and the counters of these.

    By machine the cycles in each of its ``activities``, and its ``firings``; by channel the tokens that ``entered``,
    and the peak occupancy. ``faults`` are those of all machines, also of those that met theirs later. ``jumped``: so
    many of the cycles were repetitions that were counted, and not gone through.
    """

    status: Status
    cycles: int
    activities: dict[Machine, list[int]]
    firings: dict[Machine, int]
    entered: dict[Channel, tuple[int, int]]
    faults: Faults
    jumped: int = 0


class _LateEntrance:
    """Entrance of a channel behind ``machine``: tokens enter its latency later."""

    def __init__(self, engine: PythonEngine, machine: Machine) -> None:
        self._engine, self._machine = engine, machine

    def append(self, item: Entry) -> None:
        self._engine.at(self._engine.clock.now + self._machine.latency, self._engine.enter, *item)

    def at(self, cycle: int, item: Entry) -> None:
        self._engine.at(cycle, self._engine.enter, *item)


class _SizedEntrance(_LateEntrance):
    """Entrance of a channel behind a machine whose pace follows the rows of tiles, as those do that come here.

    A token without a value has the latency of a tile without rows, and no words. Tokens stay in order: one that is
    faster waits until the words of the one before have passed. ``last``: the cycle in which the last one enters, with
    so many ``words``.
    """

    def __init__(self, engine: PythonEngine, machine: Machine, *, tiles: bool) -> None:
        super().__init__(engine, machine)
        self._tiles, self._last, self._words = tiles, -1, 1

    def append(self, item: Entry) -> None:
        channel, token = item
        if self._tiles:
            self._machine.resize(token.value if token.has_value else 0)
        if not isinstance(channel, Unread):
            self._last = max(self._last + self._words, self._engine.clock.now + self._machine.latency)
            self._words = self._machine.burst if self._tiles and token.has_value else 1
            self.at(self._last, item)


class PythonEngine:
    """One run of ``fabric``, whose memory, if there is one, is among the machines."""

    def __init__(self, fabric: PlacedFabric, watch: Watch) -> None:
        self._machines, self._channels, self._memory = fabric.machines, fabric.all_channels, fabric.memory
        self.clock, self._watch = fabric.clock, watch
        self._cycles: list[int] = []
        self._agenda: dict[int, list[tuple[Any, ...]]] = {}
        self._awake = list(fabric.machines)
        self._freed: list[Channel] = []
        self._closing: list[tuple[Channel, int]] = []
        self._log: EventLog | None = None
        self._faults: Faults = []
        self._unfinished = sum(machine.ends_run for machine in fabric.machines)
        for channel in fabric.all_channels:
            channel.freed, channel.closing = self._freed, self._closing
        for machine in fabric.machines:
            for output, channel in enumerate(machine.outputs):
                if machine.sizes is not None and output < len(machine.sized):
                    channel.entering = _SizedEntrance(self, machine, tiles=machine.sized[output])
                elif not isinstance(channel, Unread):
                    channel.entering = _LateEntrance(self, machine)

    def run(self, max_cycles: int | None = None, log: EventLog | None = None, told: Told | None = None) -> Ending:
        """Run until nothing moves, or for ``max_cycles``, and say how the run ended.

        The run ends, and what is counted stands still, with the cycle in which all that ends it has ended, or with the
        first fault; what still moves then goes on, and may meet faults. ``log`` gets what entered and left the
        channels, also behind the end.
        """
        self._log, limit = log, UNLIMITED if max_cycles is None else max_cycles
        last = None if self._unfinished else -1
        ending: Ending | None = None
        now: int | None = 0
        rounds = 0
        while now is not None and now < limit:
            rounds += 1
            if told is not None and rounds % BETWEEN == 0:
                told(now, sum(each.entered for each in self._channels if each.index >= 0))
            self.clock.now = now
            if ending is None and last is not None and last < now:
                ending = self._ending(Status.FINISHED, last + 1)
            self._fire(now)
            if self._faults and (ending is None or ending.status != Status.FAULT):
                ending = self._ending(Status.FAULT, now)
            self._free(now)
            for happens, *to in self._agenda.pop(now, ()):
                happens(*to)
            if last is None and not self._unfinished:
                last = self._last_cycle(now)
            now = self._next(now)
        if ending is not None:
            return ending
        if last is not None and last < limit:
            return self._ending(Status.FINISHED, last + 1)
        if last is None and now is None and (stopped := self._stopped()) <= limit:
            return self._ending(Status.DEADLOCK, stopped)
        return self._ending(Status.RUNAWAY, limit)

    def at(self, cycle: int, happens: Callable[..., None], *to: Any) -> None:
        """At the end of ``cycle``, the present one or a later one, this happens to something."""
        if cycle not in self._agenda:
            self._agenda[cycle] = []
            heapq.heappush(self._cycles, cycle)
        self._agenda[cycle].append((happens, *to))

    def _next(self, now: int) -> int | None:
        """The next cycle in which anything happens."""
        while self._cycles and self._cycles[0] <= now:
            heapq.heappop(self._cycles)
        if self._awake:
            return now + 1
        return self._cycles[0] if self._cycles else None

    def _fire(self, now: int) -> None:
        """Try the machines that are awake, in their order, as some contend for a thing."""
        current, self._awake = sorted(self._awake, key=attrgetter("order")), []
        for machine in current:
            try:
                outcome = machine.fire()
            except Waits as wait:
                machine.asleep = not isinstance(wait, Crowded)
                if not machine.asleep:
                    self._awake.append(machine)
                machine.switch(STARVED if isinstance(wait, Starved) else BLOCKED, now)
            except Violation as violation:
                self._faults.append((machine, violation))
            else:
                machine.firings += 1
                machine.switch(BUSY, now)
                if outcome is None or (outcome == COMPUTES and machine.interval == 1):
                    self._awake.append(machine)
                elif outcome == COMPUTES:
                    self.at(now + machine.interval - 1, self._try, machine)
                else:
                    machine.switch(FINISHED, now + 1)
                    self._unfinished -= machine.ends_run

    def _try(self, machine: Machine) -> None:
        """In the next cycle ``machine`` is tried."""
        machine.asleep = False
        self._awake.append(machine)

    def _free(self, now: int) -> None:
        """Give back the slots of the tokens that were taken in this cycle, and close outputs that are busy."""
        for channel, cycles in self._closing:
            self.at(now + cycles - 1, self._reopen, channel)
        self._closing.clear()
        for channel in self._freed:
            if self._log is not None and channel.index >= 0:
                self._log.left.append((now, channel.index, 0))
            channel.available = channel.moved = now + 1
            if channel.hops:
                self.at(now + channel.hops, self._return, channel)
            else:
                self._return(channel)
        self._freed.clear()

    def _return(self, channel: Channel) -> None:
        """A freed slot may be claimed from the next cycle on."""
        channel.space += 1
        if channel.writer.asleep:
            self._try(channel.writer)

    def _reopen(self, channel: Channel) -> None:
        channel.closed = False
        if channel.writer.asleep:
            self._try(channel.writer)

    def enter(self, channel: Channel, token: Token) -> None:
        """``token``, whose time has come, enters ``channel``, in which it is seen now or later."""
        now = self.clock.now
        if self._log is not None and channel.index >= 0:
            self._log.entered.append((now, channel.index, control_word(token)))
        channel.moved = now + 1
        channel.coming += 1
        channel.peak = max(channel.peak, len(channel.tokens) + channel.coming)
        if lag := channel.lag_of(token):
            self.at(now + lag, self._show, channel, token)
        else:
            self._show(channel, token)

    def _show(self, channel: Channel, token: Token) -> None:
        """``token`` is seen in ``channel`` from the next cycle on."""
        channel.coming -= 1
        if channel in self._watch:
            self._watch[channel].told(token)
        if not channel.tokens:
            channel.available = self.clock.now + 1
            if channel.reader.asleep:
                self._try(channel.reader)
        channel.tokens.append(token)

    def _ending(self, status: Status, cycles: int) -> Ending:
        """The end of the run, with what was counted up to it."""
        activities = {}
        for machine in self._machines:
            counted = activities[machine] = machine.cycles_in.copy()
            rest = cycles - machine.since
            counted[machine.activity] += max(rest, 0)
            counted[BUSY] += min(rest, 0)
        return Ending(
            status,
            cycles,
            activities,
            {machine: machine.firings for machine in self._machines},
            {channel: (channel.entered, channel.peak) for channel in self._channels},
            self._faults,
        )

    def _last_cycle(self, now: int) -> int | None:
        """The last cycle of a run in which all that ends it has ended, or None while writes are under way."""
        if self._memory is None:
            return now
        return None if self._memory.writing() else max(now, self._memory.last_write)

    def _stopped(self) -> int:
        """The first cycle after the last one in which anything moved on the channels of the program or in memory."""
        moved = [each.moved for each in self._channels if each.index >= 0]
        if self._memory is not None:
            moved += [self._memory.last_read, self._memory.last_write + 1]
        return max(moved, default=0)
