"""Reshape, which is written by hand, and what `hw.rules` makes of its rules: equal in every cycle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from proving import refuted
from same_bench import Same
from unit_bench import bare, control, words

from hw.firing.rule import FiringRule
from hw.links.layout import TokenFormat
from hw.units import reshape
from step.firing.declared import Declared
from step.rules import reshape as reshape_rule

Pair = tuple[FiringRule, Declared]


def reshaped(token: TokenFormat, pad: tuple[int, ...]) -> Pair:
    hand = reshape.Reshape(token, replace(words(token.rank + 1, 1), items=(1,)), 3, pad)
    value = pad[0] if token.control else np.array([pad], np.uint8) if token.items else None
    return hand, Declared(reshape_rule.Reshape, {"chunk": 3, "filler": value}, latency=1)


PAIRS = {
    "reshape": [reshaped(words(1, 2), (1, 0)), reshaped(words(2, 1), (1,))],
    "reshape control": [reshaped(control(0, 2), (2,)), reshaped(bare(1), (0,))],
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_same_in_every_cycle(name: str) -> None:
    assert refuted({str(number): Same(*pair) for number, pair in enumerate(PAIRS[name])}) == {}
