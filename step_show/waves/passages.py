"""The tokens of a channel one by one: what they are, when they entered, and when they left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from step.language.tokens import Token
from step.running.result import ChannelEvents, control_token


@dataclass(frozen=True)
class TokenPassage:
    """A token on its way through a channel, of which it is token ``number`` (from 0).

    ``left`` is None where it had not left when the run ended. What a value is nobody recorded.
    """

    number: int
    token: Token
    entered: int
    left: int | None


def passages(events: ChannelEvents, first: int, end: int) -> Iterator[TokenPassage]:
    """The tokens that are in the channel, or enter or leave it, in the cycles from ``first`` to before ``end``."""
    start = int(np.searchsorted(events.leaves, first))
    stop = int(np.searchsorted(events.cycles, end))
    for number in range(start, stop):
        left = int(events.leaves[number]) if number < len(events.leaves) else None
        token = control_token(int(events.control[number]), "value")
        yield TokenPassage(number, token, int(events.cycles[number]), left)
