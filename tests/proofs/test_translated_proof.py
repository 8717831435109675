"""The units that are written by hand, and what `hw.rules` makes of the same rules: equal in every cycle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from proving import refuted
from same_bench import Same
from unit_bench import bare, control, words

from hw.layout import TokenFormat
from hw.rule import Rule
from hw.units import broadcast, expand, flatten, partition, promote, reshape, zip
from step.firing.declared import Declared
from step.firing.words import side_by_side
from step.rules import broadcast as broadcast_rule
from step.rules import expand as expand_rule
from step.rules import flatten as flatten_rule
from step.rules import partition as partition_rule
from step.rules import promote as promote_rule
from step.rules import reshape as reshape_rule
from step.rules import zip as zip_rule

Pair = tuple[Rule, Declared]


def joined(*items: TokenFormat) -> TokenFormat:
    return replace(words(1, 1), items=tuple(bits for item in items for bits in item.items))


def flat(token: TokenFormat, low: int, high: int, holds: bool) -> Pair:
    lost = high - low
    stops = tuple(stop - lost if stop > high else min(stop, low) for stop in range(token.rank + 1))
    machine = flatten_rule.HoldingFlatten if holds else flatten_rule.Flatten
    hand = flatten.Flatten(token, low, high, holds)
    return hand, Declared(machine, {"low": low, "high": high, "stops": stops})


def promoted(token: TokenFormat) -> Pair:
    return promote.Promote(token), Declared(promote_rule.Promote, {"top": token.rank + 1})


def copied(token: TokenFormat, *others: TokenFormat) -> Pair:
    return broadcast.Broadcast(token, (token, *others)), Declared(broadcast_rule.Broadcast)


def repeated(token: TokenFormat) -> Pair:
    return expand.ExpandStatic(token, 3), Declared(expand_rule.Repeat, {"count": 3})


def followed(data: TokenFormat, rank: int) -> Pair:
    return expand.Expand(data, bare(2), rank), Declared(expand_rule.Follow, {"rank": rank})


def routed(data: TokenFormat, targets: int, rank: int) -> Pair:
    chunk = replace(data, rank=rank)
    hand = partition.Partition(data, control(data.rank - rank, targets), (chunk,) * targets, rank)
    return hand, Declared(partition_rule.Partition, {"rank": rank})


def zipped(*items: TokenFormat) -> Pair:
    return zip.Zip(items, joined(*items)), Declared(zip_rule.Zip, {"pair": side_by_side})


def reshaped(token: TokenFormat, pad: tuple[int, ...]) -> Pair:
    hand = reshape.Reshape(token, replace(words(token.rank + 1, 1), items=(1,)), 3, pad)
    value = pad[0] if token.control else np.array([pad], np.uint8) if token.items else None
    return hand, Declared(reshape_rule.Reshape, {"chunk": 3, "filler": value}, latency=1)


def split(token: TokenFormat, rank: int) -> Pair:
    hand = reshape.Split(token, replace(words(token.rank + 1, 1), items=(1,)), 3, rank)
    return hand, Declared(reshape_rule.Split, {"chunk": 3, "rank": rank})


PAIRS = {
    "broadcast": [copied(words(1, 2), words(1, 2), bare(1)), copied(control(1, 2), bare(1))],
    "repeat": [repeated(words(1, 2)), repeated(control(1, 2)), repeated(bare(1))],
    "follow": [followed(words(2, 2), 1), followed(words(2, 1), 2), followed(control(2), 1)],
    "flatten": [flat(words(3, 2), 1, 2, False), flat(words(2, 1), 0, 2, False)],
    "holding": [flat(words(3, 1), 1, 2, True), flat(words(2, 2), 0, 1, True), flat(words(3, 2), 0, 2, True)],
    "holding control": [flat(control(2), 0, 1, True), flat(bare(2), 0, 1, True)],
    "promote": [promoted(words(1, 2)), promoted(words(0, 3)), promoted(control(1)), promoted(bare(2))],
    "partition": [routed(words(2, 1), 2, 1), routed(words(2, 2), 3, 1), routed(words(1, 2), 2, 0)],
    "partition control": [routed(control(2), 2, 1), routed(bare(2), 2, 1)],
    "reshape": [reshaped(words(1, 2), (1, 0)), reshaped(words(2, 1), (1,))],
    "reshape control": [reshaped(control(0, 2), (2,)), reshaped(bare(1), (0,))],
    "split": [split(words(2, 1), 1), split(words(2, 2), 2), split(bare(2), 1)],
    "zip": [zipped(words(1, 1), words(1, 2)), zipped(words(1, 1), words(1, 2), words(1, 1))],
    "zip control": [zipped(words(1, 2), control(1)), zipped(control(1), words(1, 1))],
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_same_in_every_cycle(name: str) -> None:
    assert refuted({str(number): Same(*pair) for number, pair in enumerate(PAIRS[name])}) == {}
