"""Loops give what lists would: walks, stops, streams and what is checked of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from step.errors import InputError, StreamFault
from step.language.checker import StreamChecker
from step.language.dims import shape
from step.language.dtypes import BF16, UINT32
from step.language.graph import Graph
from step.language.loops import SHORT, RegularStream, Stops, Walk, listed
from step.language.operator import StreamType
from step.language.tokens import UNKNOWN, from_nested
from step.language.types import Tile
from step.programs.data.inputs import bind_inputs

EXTENTS = some.lists(some.integers(1, 4), min_size=1, max_size=4).map(tuple)


@given(EXTENTS, some.data())
def test_walk(extents: tuple[int, ...], data: some.DataObject) -> None:
    strides = tuple(data.draw(some.integers(-5, 5)) for _ in extents)
    walk = Walk(extents, strides, 7)
    meant = [7 + sum(i * s for i, s in zip(place, strides, strict=True)) for place in product(*map(range, extents))]
    assert list(walk) == meant and list(walk.times(3, 1)) == [1 + 3 * each for each in meant]
    assert walk[-1] == meant[-1] and walk[1:3] == meant[1:3] and len(walk) == len(meant)


@given(EXTENTS)
def test_streams(extents: tuple[int, ...]) -> None:
    values = np.arange(int(np.prod(extents)), dtype=np.uint32).reshape(-1, 1, 1)
    meant = from_nested(values.reshape(*extents, 1, 1), len(extents) - 1)
    stream = RegularStream(extents, values)
    assert list(map(str, stream)) == list(map(str, meant)) and len(stream) == len(meant)
    assert [each[1:] for each in RegularStream(extents)] == [each[1:] for each in meant]
    assert RegularStream(extents)[0].value is UNKNOWN
    everything = Stops(extents, len(extents))
    assert [*everything][:-1] == [each.stop for each in meant[:-2]] and everything[-1] == len(extents)
    checkers = [StreamChecker("x", StreamType(Tile(UINT32, 1, 1), shape(extents))) for _ in range(2)]
    for token in meant:
        checkers[0].see(token)
    assert checkers[1].fits(extents) and not checkers[1].fits((extents[0] + 1, *extents[1:]))
    checkers[1].see_regular(extents)
    seen = [(each.position, each.done, each.extents, each.totals) for each in checkers]
    assert seen[0] == seen[1]
    with pytest.raises(StreamFault, match="comes after Done"):
        checkers[1].see(meant[0])


def test_long_arrays_stay_arrays(graph: Graph) -> None:
    graph.source("x", Tile(BF16, 2, 3), [graph.symbol("N"), 2]).sink("y")
    rows = SHORT // 2
    for extra, kind in ((0, list), (1, RegularStream)):
        array = np.broadcast_to(np.ones((), BF16.numpy), (rows + extra, 2, 2, 3))
        tokens = bind_inputs(graph, {"x": array}).streams["x"]
        assert type(tokens) is kind and len(tokens) == 2 * (rows + extra) + 1
        assert tokens[1].value.tolist() == [[1, 1, 1]] * 2 and tokens[1].stop == 1
    with pytest.raises(InputError, match=r"^input 'x' must have the dimensions \[N, 2\], not \[9999, 3\]$"):
        bind_inputs(graph, {"x": np.ones((9999, 3, 2, 3))})


def test_short_ones_are_lists() -> None:
    assert listed(Walk((2,), (1,))) == [0, 1]
    assert isinstance(listed(Walk((SHORT + 1,), (1,))), Walk)
