"""A channel as signals over the cycles, for waves that a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from step.lowering.links import data_words
from step.lowering.netlist import Channel, Netlist
from step.running.result import ChannelEvents
from step_show.waves.passages import TokenPassage, passages

Kind = Literal["wire", "integer", "string"]
Value = int | str
Steps = dict[int, Value]
"""Values of a signal, by the cycle from which on it has them."""


@dataclass(frozen=True)
class Signal:
    """A signal that is ``initial`` in the first cycle, and takes the values of ``changes`` in later ones."""

    name: str
    kind: Kind
    initial: Value
    changes: Mapping[int, Value]


def channel_signals(netlist: Netlist, channel: Channel, events: ChannelEvents, first: int, end: int) -> list[Signal]:
    """The signals of ``channel`` in the cycles from ``first`` to before ``end``.

    Of the token that enters in a cycle: ``token``, its text behind its number, and ``enters``, ``value``, ``done``,
    ``stop`` and ``rank``. The words of a value follow: ``word`` says which one enters, from 1 on (of tiles of dynamic
    size nothing, as no event says how many they are). Of those that are in the channel: ``front``, the token that can
    be read, ``leaves``, whether it is, and ``level``, how many there are.
    """
    known = channel.element is None or channel.element.is_static
    words = data_words(channel.element, netlist.widths(channel)[0]) if known else 0
    near = list(passages(events, first - words, end))  # the words of a token may follow when it has left
    tokens = [(each.entered, each) for each in near]
    left = [each.left for each in near if each.left is not None]
    valued = [cycle for cycle, each in tokens if each.token.has_value]  # its words enter in the cycles behind
    times, levels = events.levels()
    shown = slice(int(np.searchsorted(times, first, side="right")) - 1, int(np.searchsorted(times, end)))

    def signal(name: str, kind: Kind, steps: Steps) -> Signal:
        idle = "-" if kind == "string" else 0
        before = max((cycle for cycle in steps if cycle <= first), default=None)
        changes = {cycle: steps[cycle] for cycle in sorted(steps) if first < cycle < end}
        return Signal(name, kind, idle if before is None else steps[before], changes)

    return [
        signal("token", "string", _pulses([(cycle, _text(each)) for cycle, each in tokens], "-")),
        signal("enters", "wire", _pulses([(cycle, 1) for cycle, _ in tokens])),
        signal("value", "wire", _pulses([(cycle, int(each.token.has_value)) for cycle, each in tokens])),
        signal("done", "wire", _pulses([(cycle, int(each.token.done)) for cycle, each in tokens])),
        signal("stop", "integer", _pulses([(cycle, each.token.stop) for cycle, each in tokens])),
        signal("rank", "integer", _pulses([(cycle, each.token.rank) for cycle, each in tokens])),
        signal("word", "integer", _pulses((cycle + word, word) for cycle in valued for word in range(1, words + 1))),
        signal("front", "string", _front(near, 1 + netlist.lag(channel))),
        signal("leaves", "wire", _pulses([(cycle, 1) for cycle in left])),
        signal("level", "integer", dict(zip(times[shown].tolist(), levels[shown].tolist(), strict=True))),
    ]


def _text(passage: TokenPassage) -> str:
    """``3:value,S1``: viewers and parsers do not agree on blanks in texts."""
    return f"{passage.number}:{str(passage.token).replace(' ', ',')}"


def _pulses(pulses: Iterable[tuple[int, Value]], idle: Value = 0) -> Steps:
    """The values of ``pulses`` for a cycle each, and ``idle`` between them."""
    steps: Steps = {}
    for cycle, value in pulses:
        steps[cycle] = value
        steps[cycle + 1] = idle
    return steps


def _front(near: Sequence[TokenPassage], delay: int) -> Steps:
    """The first of the tokens that are there, ``delay`` cycles behind its entry at the earliest."""
    steps: Steps = {}
    free = 0
    for each in near:
        steps[max(each.entered + delay, free)] = _text(each)
        if each.left is None:
            break
        free = each.left + 1
        steps[free] = "-"
    return steps
