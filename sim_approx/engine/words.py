"""Words of rules of the timing model besides those of all rules (`step.firing.words`), and the present cycle.

- ``enter(banks, who, place)`` asks for a bank of a memory, ``pass_through(banks, who, place, cycles)`` takes it;
- ``begin(buffers)``, ``fill(buffers, token)``, ``lay(buffers, page)`` and ``drop(buffers)`` change what a scratchpad
  holds, ``write(tiles, address, tile)`` what a tensor does.

``put_at`` is for what is written by hand. `unknown` stands for functions whose results nobody needs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import MutableSequence
from typing import Any, Protocol, cast

from step.firing.machine import Blocked, Channel, Entrance
from step.language.tokens import UNKNOWN, Token


class Crowded(Blocked):
    """Another machine is where this one wants to go, and may be gone in the next cycle."""


class CycleClock:
    """The present cycle."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0


class Delayed(Entrance, Protocol):
    """An entrance through which tokens may take longer than others."""

    def at(self, cycle: int, item: tuple[Channel, Token], /) -> None: ...


def put_at(channel: Channel, token: Token, cycle: int) -> None:
    """Send ``token`` into ``channel``, which it enters in ``cycle``: later than this one."""
    channel.space -= 1
    cast(Delayed, channel.entering).at(cycle, (channel, token))


class Banks:
    """Banks through which several machines pass, each in turn from one to the next, a cycle in each.

    ``passing`` has by machine where and when it began last, and for how many cycles.
    """

    def __init__(self, count: int, clock: CycleClock) -> None:
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
    """Store ``tile``; one that is not known, or of which only the rows are, leaves the old one there."""
    if tile is not UNKNOWN and not isinstance(tile, int):
        tiles[address] = tile


def unknown(*_: Any) -> Any:
    """Stands for a function whose result nobody needs."""
    return UNKNOWN
