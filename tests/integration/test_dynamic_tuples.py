"""Tuples with tiles of a dynamic number of rows in RTL: values as interpreted, every token in its cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from dynamic import COUNTS, Rows, checked, told
from raising import raising

from step import BF16, INT8, UINT32, FabricConfig, Graph, Program, Selector, Stream, Tile, Tuple
from step.errors import InputError
from step.functions import Silu
from step.language.faults import rows_of
from step.language.tokens import DONE, Token
from step.programs.data.inputs import bind_inputs

pytestmark = pytest.mark.large


@cases(
    pytest.param(64, {}, marks=pytest.mark.slow),
    pytest.param(3, {"link_bytes": 16}, marks=pytest.mark.slow),
    (20, {"link_bytes": 8, "channel_depth": 3}),
    pytest.param(1, {"dynamic_rows": 16}, marks=pytest.mark.slow),
    ids=str,
)
def test_items(cols: int, fabric: dict[str, Any]) -> None:
    """In any place: what stands behind a tile begins where its rows end, also if there are none."""
    rows = Rows(cols)
    x, z = rows.given(), rows.given("z", 2 * cols)
    fixed, at = rows.fixed("fixed", Tile(INT8, 3, 7)), numbers(rows)
    _items(fixed.zip(x, at), "middle")
    _items(x.zip(at, fixed, z), "first")
    _items(at.zip(x.zip(z), x.map(Silu())), "nested")
    _items(x.zip(at), "last")
    rows.checked(**{"vector_lanes": 2, **fabric})


def test_routing() -> None:
    rows = Rows(24)
    first, second = rows.routed(rows.given().zip(rows.fixed("fixed", Tile(BF16, 2, 20)), rows.given("z", 5)))
    back = rows.graph.reassemble([first, second.promote().flatten(0, 1)], rows.which).flatten(0, 1)
    back.reshape(1)[0].flatten(0, 1).repeat(2).sink("tuples")
    back.item_of(1).sink("fixed_again")
    rows.checked(link_bytes=32)


def test_tokens_without_a_value_have_no_words() -> None:
    """Where those of a tuple without rows have some: what follows an empty comes a cycle behind it."""
    rows = Rows(24)
    tuples = rows.given().zip(rows.fixed("fixed", Tile(BF16, 2, 20))).reshape(1)[0]
    rows.inputs["along"] = [[np.ones((1, 1))] * (number % 3) for number in range(len(COUNTS))]
    tuples.expand(rows.graph.source("along", Tile(INT8), [len(COUNTS), rows.extent])).sink("y")
    rows.checked(link_bytes=32)


def numbers(rows: Rows) -> Stream:
    """Addresses, which travel with headers; in a tuple they have words."""
    rows.inputs["at"] = list(range(len(COUNTS)))
    return rows.graph.source("at", Tile(UINT32), [len(COUNTS)])


def _items(tuples: Stream, name: str) -> None:
    """All items of ``tuples``, and these as they are."""
    for index in range(len(tuples.element.items)):  # type: ignore[union-attr]
        tuples.item_of(index).sink(f"{name}{index}")
    tuples.sink(name)


def test_from_outside() -> None:
    """A selector behind a tile ends in a word that follows from the rows."""
    rows = Rows(10)
    element = Tuple((Tile(BF16, rows.extent, 10), Selector(3), Tile(INT8, rows.extent, 2)))
    rows.inputs["x"] = [(np.full((each, 10), each), [each % 3], np.ones((each, 2))) for each in COUNTS]
    _items(rows.graph.source("x", element, [len(COUNTS)]), "items")
    rows.checked(link_bytes=16)


def test_what_is_no_value_has_no_words(graph: Graph) -> None:
    """Not those of the items that have them without rows too."""
    rows, count = (graph.symbol(name, ragged=True) for name in ("rows", "count"))
    element = Tuple((Tile(BF16, rows, 4), Selector(2), Tile(INT8, 4, 4)))
    graph.source("x", element, [3, count]).sink("y")
    value = np.ones((2, 4)), [1], np.ones((4, 4))
    checked(Program(graph, {"x": [[value], [], []]}, FabricConfig(link_bytes=4)))


def test_different_rows() -> None:
    graph = Graph("different")
    x, y = (graph.source(name, Tile(BF16, graph.symbol(f"R{name}", ragged=True), 4), [2]) for name in "xy")
    x.zip(y, name="pairs").sink("z")
    inputs = {"x": [np.ones((2, 4)), np.ones((3, 4))], "y": [np.ones((2, 4)), np.ones((0, 4))]}
    assert told(Program(graph, inputs)) == {
        f"zip 'pairs' ({graph.nodes['pairs'].location}): it takes tiles together that have different numbers of rows\n"
        "  token 1 of x is a value\n  token 1 of y is a value"
    }


def test_mean_rows(graph: Graph) -> None:
    """As those of a tile that is no item."""
    tile = Tile(BF16, graph.symbol("R", ragged=True), 4)
    assert str(graph.source("x", Tuple((Tile(INT8), tile)), [3]).item_of(1).element) == "Tile(BF16, R/3, 4)"


def test_different_rows_from_outside(graph: Graph) -> None:
    tile = Tile(BF16, graph.symbol("R", ragged=True), 4)
    graph.source("x", Tuple((tile, Tile(INT8), tile)), [2]).sink("y")
    values = [(np.ones((2, 4)), 7, np.ones((count, 4))) for count in (2, 0)]
    with raising(InputError, "input 'x' at [1] must have tiles with one number of rows in a tuple, not with 2 and 0"):
        bind_inputs(graph, {"x": values})


def test_tuples_as_tokens() -> None:
    """They know their rows as those in lists do."""
    graph = Graph("tokens")
    tile = Tile(BF16, graph.symbol("R", ragged=True), 4)
    element = Tuple((Tile(INT8), Tuple((tile, Selector(2))), tile))
    graph.source("x", element, [2]).sink("y")

    def tokens(*rows: tuple[int, int]) -> list[Token]:
        values = [(np.ones((1, 1), np.int8), (_ones(one), 1), _ones(other)) for one, other in rows]
        return [*map(Token, values), DONE]

    bound = bind_inputs(graph, {"x": tokens((5, 5), (0, 0))}).streams["x"]
    assert [rows_of(each.value) for each in bound[:-1]] == [5, 0]
    with raising(InputError, "input 'x' at [1] must have tiles with one number of rows in a tuple, not with 2 and 0"):
        bind_inputs(graph, {"x": tokens((2, 2), (2, 0))})


def _ones(rows: int) -> np.ndarray:
    return np.ones((rows, 4), BF16.numpy)
