"""Machines, channels, and the words in which firing rules are written.

A machine is a firing rule (`Machine.fire`) with its parameters and state words. A rule says what one firing needs,
takes and puts, and nothing of time:

- ``x = need(channel)``: the token in front of an input; without one, the machine starves;
- ``front(channel)``, ``oldest(channels, mask)``, ``going(channels)``: what is there by now, with which a firing does
  more;
- ``room(channel)``: an output must have space; without it, the machine is blocked;
- ``fault(code)``: the tokens in front break the operator's contract; the machine stops for good;
- ``take(channel)`` and ``put(channel, token)``: what the firing does;
- ``reserve(channel, cycles)``: the token that was put keeps the output busy for so long;
- ``enter(banks, who, place)`` asks for a bank of a memory, ``pass_through(banks, who, place, cycles)`` takes it;
- ``begin(buffers)``, ``fill(buffers, token)``, ``lay(buffers, page)`` and ``drop(buffers)`` change what a scratchpad
  holds, ``write(tiles, address, tile)`` what a tensor does.

Rules know of values only what ``number(value)`` (of a tile of one integer) and a `Mask` (of a selector) say. Tiles of
dynamic size have rows besides: a firing takes the time of the tile that it puts, or of the one that
``self.resize(tile)`` names.

All needs and faults come before all rooms, and those before the first take, put or change of a state word, so that
a firing is all or nothing. A rule returns `COMPUTES` where a value passes, which occupies the unit for its initiation
interval, `ENDS` where it was the last firing, and else None. ``tests/approx/test_rule_form.py`` enforces this form.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, Protocol, cast

from step.language.faults import Fault, Violation
from step.language.tokens import UNKNOWN, Token
from step.running.result import Activity

COMPUTES, ENDS = 1, 2

Mask = int
"""A set of ports: bit n is port n."""

Stream = Sequence[Token]
"""The tokens of a stream, up to Done: a list, or loops (`step.language.loops.RegularStream`)."""

UNLIMITED = 1 << 60


class Pace(NamedTuple):
    """What a firing with a tile of some number of rows takes, in cycles; see `Machine`."""

    interval: int
    latency: int
    burst: int = 1


Sizes = Callable[[int], Pace]
"""By the number of rows of a tile, the pace of a firing with it."""


class Waits(Exception):
    """A machine can not fire; the arguments are the channels of which one would have to change, if there are any."""


class Starved(Waits):
    """A token that the machine needs is not there."""


class Blocked(Waits):
    """There is no space for a token that the machine wants to put."""


class Crowded(Blocked):
    """Another machine is where this one wants to go, and may be gone in the next cycle."""


class Clock:
    """The present cycle."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0


class Entrance(Protocol):
    """Where the tokens go that were put into a channel, until they are seen in it."""

    def append(self, item: tuple[Channel, Token], /) -> object: ...


class Delayed(Entrance, Protocol):
    """An entrance through which tokens may take longer than others."""

    def at(self, cycle: int, item: tuple[Channel, Token], /) -> None: ...


class Channel:
    """A FIFO between two machines, as one cycle sees it.

    ``tokens`` are those that can be read, ``space`` the slots that can be claimed. Tokens that are put go through
    ``entering`` and slots that are freed through ``freed``: the engine brings them back for the next cycle. A ``deep``
    one shows tokens a cycle later: ``coming`` are those that entered, and are not seen.
    """

    __slots__ = (
        "available",
        "capacity",
        "closed",
        "closing",
        "coming",
        "deep",
        "entered_last",
        "entering",
        "freed",
        "index",
        "peak",
        "reader",
        "reader_waits",
        "space",
        "taken",
        "tokens",
        "writer",
        "writer_waits",
    )

    def __init__(self, capacity: int, index: int = -1, *, deep: bool = False) -> None:
        self.capacity = self.space = capacity
        self.index = index
        self.deep = deep
        self.coming = 0
        self.tokens: deque[Token] = deque()
        self.entering: Entrance
        self.freed: list[Channel]
        self.closed = False
        self.closing: list[tuple[Channel, int]]
        self.taken = 0
        self.peak = 0
        self.available = 0
        self.entered_last = -1
        self.reader: Machine
        self.writer: Machine
        self.reader_waits = self.writer_waits = False

    @property
    def entered(self) -> int:
        """Tokens that entered so far."""
        return self.taken + len(self.tokens) + self.coming


class Unread(Channel):
    """What stands behind an output without a reader: it takes everything, and forgets it."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(UNLIMITED)
        self.entering = deque[tuple[Channel, Token]](maxlen=0)


@dataclass(slots=True, eq=False, kw_only=True)
class Machine:
    """Base of all machines: ports, and what the engine keeps of it.

    ``latency`` is the time from a firing to its tokens entering the outputs, ``interval`` that between a
    firing that computes, or passes a value, and the next one. ``ends_run``: whether the run goes on until this machine
    has ended; ``contends``: whether others may take in a cycle what it wants in the same one.
    ``burst``: the cycles that a result takes on its way out, where that is no part of the interval. With ``sizes``
    these three follow the rows of the tiles that are put into the ``sized`` outputs.
    """

    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    latency: int = 0
    interval: int = 1
    burst: int = 1
    ends_run: bool = field(default=False, init=False)
    contends: bool = field(default=False, init=False)
    sizes: Sizes | None = field(default=None, init=False)
    sized: tuple[bool, ...] = field(default=(), init=False)
    order: int = field(default=0, init=False)
    firings: int = field(default=0, init=False)
    asleep: bool = field(default=False, init=False)
    activity: int = field(default=Activity.STARVED, init=False)
    since: int = field(default=0, init=False)
    cycles_in: list[int] = field(default_factory=lambda: [0] * len(Activity), init=False)

    def fire(self) -> int | None:
        """One firing, or none: then raises `Starved`, `Blocked` or `Violation`, and has changed nothing."""
        raise NotImplementedError

    def unfinished(self) -> Mapping[int, Token]:
        """By input, the token that was taken from it although the machine is not done with it."""
        return {}

    def resize(self, tile: Any) -> None:
        """Where sizes are dynamic, the firing is one with ``tile``, or with one of so many rows."""
        if self.sizes is not None:
            self.interval, self.latency, self.burst = self.sizes(rows(tile))

    def switch(self, activity: int, now: int) -> None:
        """From cycle ``now`` on, the machine's activity is another one."""
        self.cycles_in[self.activity] += now - self.since
        self.activity = activity
        self.since = now


def need(channel: Channel) -> Token:
    """The token in front of ``channel``."""
    if channel.tokens:
        return channel.tokens[0]
    channel.reader_waits = True
    raise Starved(channel)


def need_all(channels: Sequence[Channel]) -> list[Token]:
    """The tokens in front of all ``channels``."""
    return [need(channel) for channel in channels]


def front(channel: Channel) -> Token | None:
    """The token in front of ``channel``, if there is one by now."""
    return channel.tokens[0] if channel.tokens else None


def going(channels: Sequence[Channel]) -> Mask:
    """Mask of the ``channels`` that do not show Done by now."""
    return sum(1 << port for port, each in enumerate(channels) if not (each.tokens and each.tokens[0].done))


def oldest(channels: Sequence[Channel], mask: Mask) -> int:
    """Of the ports in ``mask``, the one whose front token has been available longest, then the lowest; -1: none is."""
    best, since = -1, UNLIMITED
    for port in bits(mask):
        channel = channels[port]
        if channel.tokens and channel.available < since:
            best, since = port, channel.available
    return best


def need_oldest(channels: Sequence[Channel], mask: Mask) -> int:
    """The `oldest`; there must be one."""
    best = oldest(channels, mask)
    if best < 0:
        for port in bits(mask):
            channels[port].reader_waits = True
        raise Starved(*(channels[port] for port in bits(mask)))
    return best


def room(channel: Channel) -> None:
    """``channel`` must have space for one more token."""
    if channel.closed or not channel.space:
        channel.writer_waits = True
        raise Blocked(channel)


def take(channel: Channel) -> None:
    """Remove the token in front of ``channel``."""
    channel.tokens.popleft()
    channel.taken += 1
    channel.freed.append(channel)


def put(channel: Channel, token: Token) -> None:
    """Send ``token`` into ``channel``."""
    channel.space -= 1
    channel.entering.append((channel, token))


def put_at(channel: Channel, token: Token, cycle: int) -> None:
    """Send ``token`` into ``channel``, which it enters in ``cycle``: later than this one."""
    channel.space -= 1
    cast(Delayed, channel.entering).at(cycle, (channel, token))


def reserve(channel: Channel, cycles: int) -> None:
    """The next token goes into ``channel`` so many cycles after this one at the earliest, whoever sends it."""
    channel.closed = True
    channel.closing.append((channel, cycles))


class Banks:
    """Banks through which several machines pass, each in turn from one to the next, a cycle in each.

    ``passing`` has by machine where and when it began last, and for how many cycles.
    """

    def __init__(self, count: int, clock: Clock) -> None:
        self.count, self.clock = count, clock
        self.passing: dict[int, tuple[int, int, int]] = {}


def enter(banks: Banks, who: int, place: int) -> None:
    """The bank of ``place`` must be free for machine ``who``, which then may `pass_through`."""
    now = banks.clock.now
    for other, (bank, since, cycles) in banks.passing.items():
        if other != who and now < since + cycles and (bank + now - since - place) % banks.count == 0:
            raise Crowded


def pass_through(banks: Banks, who: int, place: int, cycles: int) -> None:
    """Machine ``who`` is in the bank of ``place`` now, and in the next ones in the next cycles."""
    banks.passing[who] = place, banks.clock.now, cycles


class Buffers:
    """The buffers of a share, with the pages in which they lie: they are read in the order in which they are filled."""

    def __init__(self) -> None:
        self.entries: deque[list[Token]] = deque()
        self.pages: deque[list[int]] = deque()


def begin(buffers: Buffers) -> None:
    """Another buffer begins, which is filled from now on."""
    buffers.entries.append([])
    buffers.pages.append([])


def fill(buffers: Buffers, token: Token) -> None:
    """``token`` is the next entry of the buffer that is filled."""
    buffers.entries[-1].append(token)


def lay(buffers: Buffers, page: int) -> None:
    """``page`` is the next one of the buffer that is filled."""
    buffers.pages[-1].append(page)


def entry(buffers: Buffers, number: int) -> Token:
    """Entry ``number`` of the oldest buffer, or its last one."""
    entries = buffers.entries[0]
    return entries[min(number, len(entries) - 1)]


def page_of(buffers: Buffers, number: int) -> int:
    """Page ``number`` of the oldest buffer, or its last one."""
    pages = buffers.pages[0]
    return pages[min(number, len(pages) - 1)]


def page_count(buffers: Buffers) -> int:
    """Pages of the oldest buffer."""
    return len(buffers.pages[0])


def drop(buffers: Buffers) -> None:
    """The oldest buffer is no longer needed."""
    buffers.entries.popleft()
    buffers.pages.popleft()


def write(tiles: MutableSequence[Any], address: int, tile: Any) -> None:
    """Store ``tile``; one that is not known leaves the old one there."""
    if tile is not UNKNOWN:
        tiles[address] = tile


def fault(code: Fault) -> NoReturn:
    """The tokens in front break the contract."""
    raise Violation(code)


def values(tokens: Sequence[Token]) -> list[Any]:
    """The values of ``tokens``."""
    return [each.value for each in tokens]


def all_done(tokens: Sequence[Token]) -> bool:
    """Whether all ``tokens`` are Done."""
    return all(each.done for each in tokens)


def number(value: Any) -> int:
    """The integer that a tile holds."""
    return int(value[0, 0])


def rows(tile: Any) -> int:
    """How many rows a tile has; where nobody wants the scalars of one of dynamic size, it is that number."""
    return tile if isinstance(tile, int) else len(tile)


def bits(mask: Mask) -> Iterator[int]:
    """Numbers of the bits that are set, lowest first."""
    while mask:
        yield lowest(mask)
        mask &= mask - 1


def lowest(mask: Mask) -> int:
    """Number of the lowest bit that is set."""
    return (mask & -mask).bit_length() - 1


def several(mask: Mask) -> bool:
    """Whether more than one bit is set."""
    return mask & (mask - 1) != 0


def without(mask: Mask, port: int) -> Mask:
    """All of ``mask`` but ``port``."""
    return mask & ~(1 << port)


def only(port: int) -> Mask:
    """The selector of one port."""
    return 1 << port


def chosen(channels: Sequence[Channel], mask: Mask) -> list[Channel]:
    """The channels whose bit is set in ``mask``."""
    return [channels[port] for port in bits(mask)]


def unknown(*_: Any) -> Any:
    """Stands for a function whose result nobody needs."""
    return UNKNOWN


@dataclass(frozen=True)
class RowsOf:
    """Stands for a function of tiles of which only the rows are wanted: those of the operands ``of``, and ``more``."""

    of: tuple[int, ...]
    more: int = 0

    def __call__(self, *values: Any) -> int:
        return sum(rows(values[place]) for place in self.of) + self.more
