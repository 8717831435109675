"""The event engine: runs machines in global time, skipping cycles in which nothing can happen.

Channels are registered: what is put in one cycle is seen in the next, and so are freed slots. So within a cycle the
order of the machines does not matter (but among those that contend for a thing), and a machine that could not fire has
to be tried again only when the channel that it waits for changes.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, methodcaller
from typing import NamedTuple, TypeVar

from sim_approx.engine.profile import Counted
from sim_approx.engine.words import Crowded, CycleClock
from sim_approx.memory.channels import OffChipMemory
from step.firing.machine import COMPUTES, Blocked, Channel, Machine, Starved, Unread
from step.language.faults import Violation, rows_of
from step.language.tokens import UNKNOWN, Token
from step.running.result import Activity, Status, control_word

BETWEEN = 4096
"""Cycles in which something happens between two moments in which progress is told: some 0.1 s in large programs."""

STARVED, BUSY, BLOCKED, FINISHED = map(int, Activity)

_ORDER = attrgetter("order")

Entry = tuple[Channel, Token]
Noted = TypeVar("Noted")
Events = dict[int, tuple[list[int], list[int], list[int]]]
"""By channel of the program, the cycles in which tokens entered it, the control of each, and the cycles in which they
left."""


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


class Watched(deque[Token]):
    """The tokens of a channel, which are shown to a ``watcher`` when they enter."""

    def __init__(self, watcher: Watcher) -> None:
        super().__init__()
        self._watcher = watcher

    def append(self, token: Token) -> None:
        self._watcher.told(token)
        super().append(token)


class _Later:
    """The entrance of a channel behind a latency: tokens enter that much later."""

    __slots__ = ("_agenda", "_latency")

    def __init__(self, agenda: _Agenda, latency: int) -> None:
        self._agenda, self._latency = agenda, latency

    def append(self, item: Entry) -> None:
        self.at(self._agenda.clock.now + self._latency, item)

    def at(self, cycle: int, item: Entry) -> None:
        self._agenda.arrivals_in(cycle).append(item)


class SizedEntrance:
    """The entrance of a channel behind a machine whose pace follows the rows of tiles, as those do that come here.

    What is no value has the latency of a tile without rows, and no words. Tokens stay in order: one that is faster
    waits until the words of the one before have passed. ``last``: the cycle in which the last one enters, ``words`` of
    it, and how long the channel ``gathers`` these.
    """

    __slots__ = ("_agenda", "_machine", "_tiles", "gathers", "last", "words")

    def __init__(self, agenda: _Agenda, machine: Machine, *, tiles: bool) -> None:
        self._agenda, self._machine, self._tiles = agenda, machine, tiles
        self.last, self.words, self.gathers = -1, 1, 0

    def append(self, item: Entry) -> None:
        channel, token = item
        if self._tiles:
            self._machine.resize(token.value if token.has_value else 0)
        if not isinstance(channel, Unread):
            self.last = max(self.last + self.words, self._agenda.clock.now + self._machine.latency)
            self.words = self._machine.burst if self._tiles and token.has_value else 1
            self.gathers = channel.lag_of(token) - channel.lag
            self._agenda.arrivals_in(self.last).append(item)


class _Agenda:
    """Events of later cycles: machines to be tried, tokens that enter, and channels that take more."""

    __slots__ = ("appearances", "arrivals", "clock", "cycles", "openings", "wakes")

    def __init__(self, clock: CycleClock) -> None:
        self.clock = clock
        self.cycles: list[int] = []
        self.wakes: dict[int, list[Machine]] = {}
        self.arrivals: dict[int, list[Entry]] = {}
        self.appearances: dict[int, list[Entry]] = {}
        self.openings: dict[int, list[Channel]] = {}

    def wakes_in(self, cycle: int) -> list[Machine]:
        return self._noted(self.wakes, cycle)

    def arrivals_in(self, cycle: int) -> list[Entry]:
        return self._noted(self.arrivals, cycle)

    def appearances_in(self, cycle: int) -> list[Entry]:
        return self._noted(self.appearances, cycle)

    def openings_in(self, cycle: int) -> list[Channel]:
        return self._noted(self.openings, cycle)

    def _noted(self, what: dict[int, list[Noted]], cycle: int) -> list[Noted]:
        found = what.get(cycle)
        if found is None:
            found = what[cycle] = []
            heapq.heappush(self.cycles, cycle)
        return found

    def after(self, now: int, awake: list[Machine]) -> tuple[int | None, list[Machine]]:
        """The next cycle in which anything is to happen, and the machines to be tried in it, with those ``awake``."""
        cycles = self.cycles
        if awake:
            now += 1
        elif cycles:
            now = cycles[0]
        else:
            return None, awake
        while cycles and cycles[0] <= now:
            heapq.heappop(cycles)
        woken = self.wakes.pop(now, None)
        if woken is not None:
            awake = awake + woken
        for channel in self.openings.pop(now, ()):
            channel.closed = False
            if channel.writer_waits:
                channel.writer_waits = False
                if channel.writer.asleep:
                    channel.writer.asleep = False
                    awake.append(channel.writer)
        return now, awake


class PythonEngine:
    """One run of ``machines`` joined by ``channels``; the memory, if there is one, is among the machines."""

    repeats = False
    attempt: Callable[[Machine], int | None] = staticmethod(methodcaller("fire"))
    """How a machine is tried."""
    _switch: Callable[[Machine, int, int], None] = staticmethod(Machine.switch)
    """How a machine changes what it does."""

    def __init__(
        self,
        machines: Sequence[Machine],
        channels: Sequence[Channel],
        clock: CycleClock,
        memory: OffChipMemory | None,
        watch: Watch,
    ) -> None:
        self._machines, self._clock, self._memory = machines, clock, memory
        self._agenda = _Agenda(clock)
        self._entering: list[Entry] = []
        self._freed: list[Channel] = []
        self._closing: list[tuple[Channel, int]] = []
        self._faults: Faults = []
        self._open = sum(machine.ends_run for machine in machines)
        self._channels = channels
        self._contended = any(machine.contends for machine in machines)
        self._has_lags = any(channel.lag or channel.gathering for channel in channels)
        for channel, watcher in watch.items():
            channel.tokens = Watched(watcher)
        for channel in channels:
            channel.freed, channel.closing = self._freed, self._closing
        for machine in machines:
            for output, channel in enumerate(machine.outputs):
                if machine.sizes is not None and output < len(machine.sized):
                    channel.entering = SizedEntrance(self._agenda, machine, tiles=machine.sized[output])
                elif not isinstance(channel, Unread):
                    channel.entering = _Later(self._agenda, machine.latency) if machine.latency else self._entering

    def run(
        self,
        max_cycles: int | None = None,
        events: Events | None = None,
        told: Told | None = None,
        jump: bool = True,
        counted: Counted | None = None,
    ) -> Ending:
        """Run until nothing moves, or for ``max_cycles``, and say how the run ended.

        The run ends, and what is counted stands still, with the cycle in which all that ends it has ended, or with the
        first fault; what still moves then goes on, and may meet faults. ``events`` gets what entered and left
        the channels, also behind the end; ``counted`` what machines did when. This engine never jumps.
        """
        if counted is not None:
            counted.begin(self._machines)
            self._switch = counted.switch
            if self._memory is not None:
                counted.watch(self._memory, self._clock)
        limit = max_cycles if max_cycles is not None else 1 << 62
        current = list(self._machines)
        last = None if self._open else -1
        ending: Ending | None = None
        now: int | None = 0
        rounds = 0
        while now is not None and now < limit:
            rounds += 1
            if told is not None and rounds % BETWEEN == 0:
                told(now, sum(each.entered for each in self._channels if each.index >= 0))
            self._clock.now = now
            if ending is None and last is not None and last < now:
                ending = self._ending(Status.FINISHED, last + 1)
            awake = self._fire(current, now)
            if self._faults and (ending is None or ending.status != Status.FAULT):
                ending = self._ending(Status.FAULT, now)
            for channel, cycles in self._closing:
                self._agenda.openings_in(now + cycles).append(channel)
            self._closing.clear()
            if self._freed:
                if events is not None:
                    for channel in self._freed:
                        if channel.index >= 0:
                            events[channel.index][2].append(now)
                self._free(awake, now)
            self._enter(awake, now, events)
            if last is None and not self._open:
                last = self._last_cycle(now)
            now, current = self._agenda.after(now, awake)
        if counted is not None:
            counted.end()
        if ending is not None:
            return ending
        if last is not None and last < limit:
            return self._ending(Status.FINISHED, last + 1)
        if last is None and now is None and (stopped := self._stopped()) <= limit:
            return self._ending(Status.DEADLOCK, stopped)
        return self._ending(Status.RUNAWAY, limit)

    def _fire(self, current: list[Machine], now: int) -> list[Machine]:
        """Try the machines in ``current``; returns those to be tried again in the next cycle."""
        awake: list[Machine] = []
        if self._contended:
            current.sort(key=_ORDER)
        wakes_in, attempt, switch = self._agenda.wakes_in, self.attempt, self._switch
        for machine in current:
            try:
                outcome = attempt(machine)
            except Starved:
                machine.asleep = True
                if machine.activity != STARVED:
                    switch(machine, STARVED, now)
            except Crowded:
                awake.append(machine)
                if machine.activity != BLOCKED:
                    switch(machine, BLOCKED, now)
            except Blocked:
                machine.asleep = True
                if machine.activity != BLOCKED:
                    switch(machine, BLOCKED, now)
            except Violation as violation:
                self._faults.append((machine, violation))
            else:
                machine.firings += 1
                if machine.activity != BUSY:
                    switch(machine, BUSY, now)
                if outcome is None:
                    awake.append(machine)
                elif outcome == COMPUTES:
                    if machine.interval == 1:
                        awake.append(machine)
                    else:
                        wakes_in(now + machine.interval).append(machine)
                else:
                    switch(machine, FINISHED, now + 1)
                    self._open -= machine.ends_run
        return awake

    def _free(self, awake: list[Machine], now: int) -> None:
        """Give back the slots of the tokens that were taken in this cycle; wake those who waited for one."""
        for channel in self._freed:
            channel.available = now + 1
            channel.space += 1
            if channel.writer_waits:
                channel.writer_waits = False
                machine = channel.writer
                if machine.asleep:
                    machine.asleep = False
                    awake.append(machine)
        self._freed.clear()

    def _enter(self, awake: list[Machine], now: int, events: Events | None) -> None:
        """Let the tokens in whose time has come; wake those who waited for one."""
        entering = self._entering
        arrived = self._agenda.arrivals.pop(now, None)
        if arrived is not None:
            entering += arrived
        if events is not None:
            for channel, token in entering:
                if channel.index >= 0:
                    cycles, controls, _ = events[channel.index]
                    cycles.append(now)
                    controls.append(control_word(token))
        for channel, token in self._shown(now) if self._has_lags else entering:
            tokens = channel.tokens
            if channel.lag or channel.gathering:
                channel.coming -= 1
            else:
                channel.entered_last = now
            if not tokens:
                channel.available = now + 1
                if channel.reader_waits:
                    channel.reader_waits = False
                    machine = channel.reader
                    if machine.asleep:
                        machine.asleep = False
                        awake.append(machine)
            tokens.append(token)
            if len(tokens) > channel.peak:
                channel.peak = len(tokens)
        entering.clear()

    def _shown(self, now: int) -> list[Entry]:
        """Tokens seen from the next cycle on: those that enter now, or entered before in channels with a lag."""
        shown = self._agenda.appearances.pop(now, [])
        for channel, token in self._entering:
            if not channel.lag and not channel.gathering:
                shown.append((channel, token))
                continue
            channel.entered_last = now
            channel.coming += 1
            channel.peak = max(channel.peak, channel.entered - channel.taken)
            lag = channel.lag_of(token)
            (self._agenda.appearances_in(now + lag) if lag else shown).append((channel, token))
        return shown

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
        moved = [max(each.available, each.entered_last + 1) for each in self._channels if each.index >= 0]
        if self._memory is not None:
            moved += [self._memory.last_read, self._memory.last_write + 1]
        return max(moved, default=0)
