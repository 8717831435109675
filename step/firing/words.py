"""The words in which firing rules are written.

A rule says what one firing needs, takes and puts, and nothing of time:

- ``x = need(channel)``: the token in front of an input; without one, the machine starves;
- ``need_each(channels, mask)``, ``need_any(channels, mask)``: the same of those that a mask names;
- ``front(channel)``, ``waiting(channels, mask)``, ``oldest(channels, mask)``, ``going(channels)``: what is there by
  now, with which a firing does more;
- ``room(channel)``: an output must have space; without it, the machine is blocked;
- ``fault(code)``: the tokens in front break the operator's contract; the machine stops for good;
- ``take(channel)`` and ``put(channel, token)``: what the firing does;
- ``reserve(channel, cycles)``: the token that was put keeps the output busy for so long.

Rules know of values only what ``number(value)`` (of a tile of one integer) and a `Mask` (of a selector) say, and of a
tile of dynamic size its ``rows_of(value)``: a firing takes the time of the tile that it puts, or of the one that
``self.resize(tile)`` names.

All needs and faults come before all rooms, and those before the first take, put or change of a state word, so that
a firing is all or nothing. A rule returns `COMPUTES` where a value passes, which occupies the unit for its initiation
interval, `ENDS` where it was the last firing, and else None. ``tests/approx/test_rule_form.py`` enforces this form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from step.firing.machine import UNLIMITED, Blocked, Channel, Mask, Starved
from step.language.faults import Fault, Violation
from step.language.tokens import BLANK, Token


def need(channel: Channel) -> Token:
    """The token in front of ``channel``."""
    if channel.tokens:
        return channel.tokens[0]
    raise Starved(channel)


def need_all(channels: Sequence[Channel]) -> list[Token]:
    """The tokens in front of all ``channels``."""
    return [need(channel) for channel in channels]


def need_each(channels: Sequence[Channel], mask: Mask) -> Token:
    """The token in front of the ``channels`` in ``mask``: one, or several that are alike; `BLANK` if none is."""
    found = BLANK
    for port in bits(mask):
        found = need(channels[port])
    return found


def need_any(channels: Sequence[Channel], mask: Mask) -> None:
    """One of the ``channels`` in ``mask`` must have a token, whichever."""
    if not waiting(channels, mask):
        raise Starved(*(channels[port] for port in bits(mask)))


def front(channel: Channel) -> Token | None:
    """The token in front of ``channel``, if there is one by now."""
    return channel.tokens[0] if channel.tokens else None


def going(channels: Sequence[Channel]) -> Mask:
    """Mask of the ``channels`` that do not show Done by now."""
    return sum(1 << port for port, each in enumerate(channels) if not (each.tokens and each.tokens[0].done))


def waiting(channels: Sequence[Channel], mask: Mask) -> Mask:
    """Mask of the channels in ``mask`` that have a token by now."""
    return sum(1 << port for port in bits(mask) if channels[port].tokens)


def oldest(channels: Sequence[Channel], mask: Mask) -> Mask:
    """The one in ``mask`` whose front token has been available longest, then the lowest, if there is any."""
    best, since = 0, UNLIMITED
    for port in bits(mask):
        channel = channels[port]
        if channel.tokens and channel.available < since:
            best, since = 1 << port, channel.available
    return best


def room(channel: Channel) -> None:
    """``channel`` must have space for one more token."""
    if channel.closed or not channel.space:
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


def reserve(channel: Channel, cycles: int) -> None:
    """The next token goes into ``channel`` so many cycles after this one at the earliest, whoever sends it."""
    channel.closed = True
    channel.closing.append((channel, cycles))


def fault(code: Fault) -> NoReturn:
    """The tokens in front break the contract."""
    raise Violation(code)


def values(tokens: Sequence[Token]) -> list[Any]:
    """The values of ``tokens``."""
    return [each.value for each in tokens]


def side_by_side(*items: Any) -> tuple[Any, ...]:
    """The tuple of ``items``: a function of values that every reader of rules knows."""
    return items


def number(value: Any) -> int:
    """The integer that a tile holds."""
    return int(value[0, 0])


def bits(mask: Mask) -> Iterator[int]:
    """Numbers of the bits that are set, lowest first."""
    while mask:
        yield lowest(mask)
        mask &= mask - 1


def lowest(mask: Mask) -> int:
    """Number of the lowest bit that is set."""
    return (mask & -mask).bit_length() - 1


def targets_in(value: Any) -> int:
    """The number of targets of a selector."""
    return int(value.bit_count())


def several(mask: Mask) -> bool:
    """Whether more than one bit is set."""
    return mask & (mask - 1) != 0


def first(mask: Mask) -> Mask:
    """The lowest of ``mask`` alone."""
    return mask & -mask


def without(mask: Mask, others: Mask) -> Mask:
    """All of ``mask`` but ``others``."""
    return mask & ~others


def every(channels: Sequence[Channel]) -> Mask:
    """All of the ``channels``."""
    return (1 << len(channels)) - 1


def only(mask: Mask) -> Any:
    """The selector of the one port in ``mask``."""
    return mask


def chosen(channels: Sequence[Channel], mask: Mask) -> list[Channel]:
    """The channels whose bit is set in ``mask``."""
    return [channels[port] for port in bits(mask)]
