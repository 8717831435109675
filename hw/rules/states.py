"""Flags among the state words that can be set at once: some rules hold a token only while another word says so."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from hw.rules.facts import Facts, never
from hw.rules.numbers import Number, const

MOST = 5
"""With more flags than that, anything is taken for possible."""


def possible(flags: Mapping[Number, tuple[int, Number]], live: Number, facts: Facts) -> Number:
    """Whether the ``flags``, each with what it is at first and behind a firing that is ``live``, can be as they are."""
    if not 1 < len(flags) <= MOST:
        return const(1)
    states, all_states = [tuple(first for first, _ in flags.values())], [*product((0, 1), repeat=len(flags))]
    for state in states:
        here = live & _same(flags, state)
        behind = (each for each in all_states if each not in states)
        states += [each for each in behind if not never(here & _same([n for _, n in flags.values()], each), facts)]
    found = const(int(len(states) == len(all_states)))
    for state in states:
        found |= _same(flags, state)
    return found


def _same(flags: Mapping[Number, object] | list[Number], state: tuple[int, ...]) -> Number:
    """Whether ``flags`` are those of ``state``."""
    found = const(1)
    for flag, wanted in zip(flags, state, strict=True):
        found &= flag if wanted else ~flag
    return found
