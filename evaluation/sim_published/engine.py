"""Contexts with local time, the channels between them, and the order in which they run.

The rules are those of the simulator of the artifact (DAM): an element that is sent at local time t is visible at t + 1,
or at its stamp where the sender gave it a later one. Whoever looks at it has at least that time. Element n of a channel
of depth d is sent after element n - d was dequeued, and not before the next cycle; a slot is held until then. So
results do not depend on the order in which contexts run, but for two things that look at what comes first: memory, and
EagerMerge. These go on in the order of time, and only when nothing else can.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Generator, Iterable
from typing import Protocol

from step.language.tokens import Token

Wait = Generator[int | None, None, None]
"""What a context does; it yields None where it waits for a channel or for memory, and a time where it has to know all
that happens before it can go on."""


class TimedFifo:
    """A FIFO of ``(visible, token)``; ``in_memory``: its tiles are read from an on-chip memory unit."""

    __slots__ = ("closed", "count", "freed", "in_memory", "items", "reader", "room", "writer")

    def __init__(self, depth: int) -> None:
        self.items: deque[tuple[int, Token]] = deque()
        self.freed: deque[int] = deque()
        self.room = depth
        self.reader: Context | None = None
        self.writer: Context | None = None
        self.in_memory = False
        self.count = 0
        self.closed = 0
        """When whoever waits for it sees that it was closed; see `Context.follow`."""


class TimedMemory(Protocol):
    """Off-chip memory: bursts of requests in, the time of the last answer of each out."""

    def issue(self, port: int, start: int, requests: int) -> None:
        """A burst at ``port``, whose first requests memory sees in cycle ``start``."""

    def advance(self, limit: int) -> tuple[int, int] | None:
        """The first burst to be answered, and when, as far as the cycles up to ``limit`` tell."""

    def pop(self) -> None:
        """Forget that burst."""


NEVER = 1 << 62


class Context:
    """An operator that runs: its local ``time``, and what it does (``process``).

    ``starved`` and ``blocked`` are the cycles by which it went on to when an element came, or there was a slot.
    ``tiles`` went between it and off-chip memory.
    """

    def __init__(self, name: str, engine: ContextEngine) -> None:
        self.name = name
        self.engine = engine
        self.time = self.arrived = 0
        self.starved = 0
        self.blocked = 0
        self.tiles = 0
        self.waits = 0
        self.queued = False
        self.decided = False
        """Whether it goes on because all is known that happens before the time it gave."""
        self.process: Wait

    def wake(self) -> None:
        """Let the context go on."""
        if not self.queued:
            self.queued = True
            self.engine.runnable.append(self)

    def head(self, channel: TimedFifo) -> Generator[None, None, Token]:
        """The first element of ``channel``, when it is there."""
        while not channel.items:
            channel.reader = self
            yield
        visible, token = channel.items[0]
        if visible > self.time and not token.done:
            self.starved += visible - self.time
            self.time = self.arrived = visible
        return token

    def heads(self, channels: Iterable[TimedFifo]) -> Generator[None, None, list[Token]]:
        """The first elements of all ``channels``, when they are there."""
        tokens = []
        for channel in channels:
            tokens.append((yield from self.head(channel)))
        return tokens

    def follow(self, channel: TimedFifo) -> None:
        """Go on to when ``channel`` was closed, if it was.

        A context that waits follows the local time of its sender, a cycle ahead, for as long as that waits, too. So at
        the end of the stream it is a cycle behind the arrival of the last element at the sender. Now and then it is not
        that far in the artifact, which runs contexts as threads: the one thing in it that decides by chance.
        """
        if channel.items[0][1].done and channel.closed > self.time:
            self.starved += channel.closed - self.time
            self.time = channel.closed

    def drop(self, channel: TimedFifo) -> None:
        """Dequeue the first element of ``channel``."""
        channel.items.popleft()
        channel.freed.append(self.time)
        writer = channel.writer
        if writer is not None:
            channel.writer = None
            writer.wake()

    def take(self, channel: TimedFifo) -> Generator[None, None, Token]:
        """Dequeue the first element of ``channel``, when it is there."""
        token = yield from self.head(channel)
        self.drop(channel)
        return token

    def there(self, channel: TimedFifo) -> Generator[None, None, int]:
        """Wait for an element of ``channel`` and return when it is visible, without going on to that time."""
        while not channel.items:
            channel.reader = self
            yield
        return channel.items[0][0]

    def space(self, channel: TimedFifo) -> Generator[None, None, None]:
        """Wait for a slot of ``channel``."""
        if channel.room:
            return
        while not channel.freed:
            channel.writer = self
            yield
        if channel.freed[0] >= self.time:
            self.blocked += channel.freed[0] + 1 - self.time
            self.time = channel.freed[0] + 1

    def put(self, channel: TimedFifo, token: Token, at: int = 0) -> None:
        """Send ``token`` into the slot there is: it is visible in the next cycle, or at the stamp ``at`` if that is
        later. The hop is not added to the stamp.

        Done closes the channel, and needs no slot.
        """
        if token.done:
            channel.closed = self.arrived + 1
        elif channel.room:
            channel.room -= 1
        else:
            channel.freed.popleft()
        soonest = self.time + 1  # time model, 1.4: the later one of the stamp and the hop, and not their sum
        channel.items.append((at if at > soonest else soonest, token))
        channel.count += 1
        reader = channel.reader
        if reader is not None:
            channel.reader = None
            reader.wake()

    def send(self, channel: TimedFifo | None, token: Token, at: int = 0) -> Generator[None, None, None]:
        """Wait for a slot of ``channel``, and send ``token``; without a channel nobody reads it."""
        if channel is None:
            return
        if not channel.room and not token.done:
            yield from self.space(channel)
        self.put(channel, token, at)


class ContextEngine:
    """Runs ``contexts`` until nothing moves any more."""

    def __init__(self, memory: TimedMemory) -> None:
        self.memory = memory
        self.contexts: list[Context] = []
        self.runnable: deque[Context] = deque()
        self.ports: list[Context] = []
        self.finished: set[Context] = set()
        self.running: Context
        self._decisions: list[tuple[int, int, int, Context]] = []
        self._sequence = 0

    def run(self) -> int:
        """The local time of the last context; `finished` has those that came to their end."""
        for each in self.contexts:
            each.wake()
        while True:
            self._settle()
            while self._decisions and self._decisions[0][2] != self._decisions[0][3].waits:
                heapq.heappop(self._decisions)
            decision = self._decisions[0][0] if self._decisions else NEVER
            answered = self.memory.advance(decision)
            if answered is not None and answered[1] < decision:
                port, time = answered
                self.memory.pop()
                context = self.ports[port]
                context.time = max(context.time, time)
                context.wake()
            elif self._decisions:
                context = heapq.heappop(self._decisions)[3]
                context.decided = True
                context.wake()
            else:
                return max((each.time for each in self.contexts), default=0)

    def _settle(self) -> None:
        """Run whoever can until everybody waits."""
        runnable = self.runnable
        while runnable:
            context = self.running = runnable.popleft()
            context.queued = False
            context.waits += 1
            try:
                wait = next(context.process)
            except StopIteration:
                self.finished.add(context)
                continue
            if wait is not None:
                self._sequence += 1
                heapq.heappush(self._decisions, (wait, self._sequence, context.waits, context))
