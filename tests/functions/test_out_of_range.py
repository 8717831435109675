"""Indices that are out of range are the same error in the interpreter and the timing model."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from cases import cases

from sim_approx import backend as approx
from step.errors import StreamFault
from step.functions.cache import CacheEnd, CacheTiles, ExpertTiles
from step.functions.edit import SetRow
from step.functions.select import SelectAll
from step.language.dtypes import BF16, UINT32
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.tokens import DONE, Token
from step.language.types import Selector, Tile
from step.running.interpreter import interpret

ADDRESS = Tile(UINT32)
REQUESTS = "a request has to be one of 0 to 2, and to have"


def number(value: int) -> np.ndarray:
    return np.array([[value]], np.uint32)


def play(graph: Graph, name: str, element: Tile | Selector) -> Stream:
    return graph.source(name, element, [3])


def rows(graph: Graph) -> Stream:
    tiles, row = play(graph, "tiles", Tile(BF16, 2, 2)), play(graph, "row", Tile(BF16, 1, 2))
    return tiles.map(SetRow(), play(graph, "a", ADDRESS), row, name="y")


def of_requests(function: CacheTiles | CacheEnd) -> Callable[[Graph], Stream]:
    def build(graph: Graph) -> Stream:
        request, length = play(graph, "a", ADDRESS), play(graph, "b", ADDRESS)
        if isinstance(function, CacheEnd):
            return request.map(function, length, name="y")
        return request.flat_map(function, length, name="y")

    return build


@pytest.mark.parametrize("unread", [False, True])
@cases(
    (rows, [0, 1, 2], None, "map 'y': the index of a row is not below the number of rows\n  token 2 of a is 2"),
    (lambda graph: play(graph, "a", ADDRESS).flat_map(ExpertTiles(4, 2), name="y"), [3, 2**32 - 1, 4], None,
     "flat_map 'y': this is not exactly one of the experts 0 to 3\n  token 1 of a is 4294967295"),
    (lambda graph: graph.selectors("a", 4, [3]).flat_map(ExpertTiles(4, 2), name="y"), [8, 6, 1], None,
     "flat_map 'y': this is not exactly one of the experts 0 to 3\n  token 1 of a is a selector of 1, 2"),
    (lambda graph: graph.selectors("a", 4, [3]).flat_map(ExpertTiles(4, 2), name="y"), [8, 0, 1], None,
     "flat_map 'y': this is not exactly one of the experts 0 to 3\n  token 1 of a is a selector of no target"),
    (of_requests(CacheTiles(3, 2, 5)), [2, 0, 1], [10, 0, 11],
     f"flat_map 'y': {REQUESTS} 10 rows of the cache at most\n  token 2 of a is 1\n  token 2 of b is 11"),
    (of_requests(CacheEnd(3, 2, 4)), [2, 3, 1], [7, 0, 0],
     f"map 'y': {REQUESTS} less than 8 rows of the cache\n  token 1 of a is 3\n  token 1 of b is 0"),
    (of_requests(CacheEnd(3, 2, 4)), [2, 2, 1], [7, 8, 0],
     f"map 'y': {REQUESTS} less than 8 rows of the cache\n  token 1 of a is 2\n  token 1 of b is 8"),
)  # fmt: skip
def test_out_of_range(
    build: Callable[[Graph], Stream], first: list[int], second: list[int] | None, text: str, unread: bool, graph: Graph
) -> None:
    made = build(graph)
    (made.map(SelectAll(2)) if unread else made).sink("out")  # values that nobody reads are minded, too
    inputs = {"a": [*map(Token, map(number, first)), DONE]}
    if isinstance(graph.nodes["a"].output_types[0].element, Selector):
        inputs["a"] = [*map(Token, first), DONE]
    if second is not None:
        inputs["b"] = [*map(Token, map(number, second)), DONE]
    if "tiles" in graph.nodes:
        inputs |= {"tiles": [Token(np.zeros((2, 2), BF16.numpy))] * 3 + [DONE]}
        inputs |= {"row": [Token(np.zeros((1, 2), BF16.numpy))] * 3 + [DONE]}
    for run in (interpret, approx.run):
        with pytest.raises(StreamFault) as found:
            run(graph, inputs)
        assert re.sub(r" \([^)]*py:\d+\)", "", str(found.value)) == text
