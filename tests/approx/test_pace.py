"""The pace of merges, generated streams and items: a token a cycle, or a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cases import cases
from scenarios import FABRIC

from sim_approx.backend import run
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.types import Tile

COUNT = 100
PAIR, SMALL = Tile(BF16, 2, 4), Tile(BF16, 1, 4)
"""Tiles of two words, and of one."""


def streams(graph: Graph, count: int, tile: Tile) -> list[Stream]:
    return [graph.constant([[1.0] * int(tile.cols)] * int(tile.rows), [COUNT]) for _ in range(count)]


@cases(
    (lambda g: g.turns(3, dims=[COUNT]), COUNT, 1),
    (lambda g: g.count([COUNT]), COUNT, 1),
    (lambda g: streams(g, 1, PAIR)[0], COUNT, 2),
    (lambda g: g.eager_merge(streams(g, 1, SMALL))[0], COUNT, 1),
    (lambda g: g.eager_merge(streams(g, 2, SMALL))[0], 2 * COUNT, 1),
    (lambda g: g.eager_merge(streams(g, 3, PAIR))[0], 3 * COUNT, 2),
    (lambda g: g.eager_merge([x.repeat(4) for x in streams(g, 2, SMALL)], rank=1)[0], 8 * COUNT, 1),
    # The words of a tuple come one after the other.
    (lambda g: streams(g, 1, PAIR)[0].zip(g.turns(2, dims=[COUNT]))[1], COUNT, 3),
)  # fmt: skip
def test_pace(build: Callable[[Graph], Any], tokens: int, words: int, graph: Graph) -> None:
    build(graph).sink("y")
    cycles = run(graph, {}, FABRIC).cycles
    assert tokens * words <= cycles <= tokens * words + 12
