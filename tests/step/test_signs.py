"""Signs between streams, numbers and arrays; rows in tiles, and tiles in rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from step import BF16, FP32, INT32, Graph, Stream, Tile, interpret
from step.errors import ProgramError
from step.functions import Add, Div, Matmul, Mul, Scale, Sub

X = np.arange(1.0, 25.0).reshape(6, 1, 4)


@pytest.fixture
def graph() -> Graph:
    return Graph("signs")


@pytest.fixture
def x(graph: Graph) -> Stream:
    stream: Stream = graph.source("x", Tile(FP32, 1, 4), [6])
    return stream


def values(graph: Graph, stream: Stream, **inputs: Any) -> np.ndarray:
    """What ``stream`` has on the data X, or on others."""
    stream.sink("result")
    found = interpret(graph, inputs or {"x": X}).outputs["result"]
    return np.array([each.value for each in found if each.has_value], np.float64)


@pytest.mark.parametrize(
    "form",
    [
        lambda x: x + x, lambda x: x - x, lambda x: x * x, lambda x: x + 2, lambda x: 2 + x, lambda x: x - 0.5,
        lambda x: 0.5 - x, lambda x: x * 3, lambda x: 3 * x, lambda x: x / 4, lambda x: -x,
        lambda x: x + np.arange(4.0)[None], lambda x: np.arange(4.0)[None] - x, lambda x: x * np.full((1, 4), 2.0),
    ],
)  # fmt: skip
def test_signs_mean_what_they_mean_of_arrays(graph: Graph, x: Stream, form: Callable[[Any], Any]) -> None:
    assert (values(graph, form(x)) == form(X)).all()


def test_a_quotient_with_a_number_above(graph: Graph, x: Stream) -> None:
    assert np.allclose(values(graph, 1 / x), 1 / X, rtol=1e-6)


def test_products_of_matrices(graph: Graph) -> None:
    x, w = np.arange(8.0).reshape(2, 1, 4), np.arange(12.0).reshape(4, 3)
    stream = graph.source("x", Tile(BF16, 1, 4), [2])
    assert (values(graph, stream @ w, x=x) == x @ w).all()
    other = Graph("left")
    stream = other.source("x", Tile(BF16, 1, 4), [2])
    assert (values(other, np.ones((3, 1)) @ stream, x=x) == np.ones((3, 1)) @ x).all()


def test_each_sign_is_a_function(graph: Graph, x: Stream) -> None:
    made = [x + x, x - x, x * x, x / x, x * 2, -x]
    functions = [graph.nodes[each.producer].operator.function for each in made]  # type: ignore[attr-defined]
    assert functions == [Add(), Sub(), Mul(), Div(), Scale(2), Scale(-1)]


def test_formats_and_names(graph: Graph) -> None:
    x = graph.source("x", Tile(BF16, 1, 4), [6])
    product = x.matmul(np.eye(4), out="BF16", name="product")
    assert (product.producer, graph.nodes["product"].operator.function) == ("product", Matmul(out=BF16))  # type: ignore[attr-defined]
    assert str(x.add(1, out=FP32).type) == "[6] of Tile(FP32, 1, 4)"
    assert str((graph.source("n", Tile(INT32), [6]) * 3).type) == "[6] of Tile(INT32, 1, 1)"


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (lambda x: x + "one", "a constant of FP32 must be numbers that FP32 has, not 'one'"),
        (lambda x: x - None, "a constant of FP32 must be numbers that FP32 has, not None"),
        (lambda x: x @ [[1, 2], [3]], "a constant of FP32 must be numbers that FP32 has, not [[1, 2], [3]]"),
        (lambda x: x.graph.turns(2) + 1, "generate_0 has elements Selector(2), with which nothing can be calculated"),
        (lambda x: x.graph.turns(2).tiles(4), "generate_0 has elements Selector(2), and no tiles"),
        (lambda x: x.graph.turns(2).rows(), "generate_0 has elements Selector(2), and no rows"),
        (lambda x: x + 1e300, "a constant of FP32 must be numbers that FP32 has, not 1e+300"),
    ],
)  # fmt: skip
def test_what_no_sign_takes(x: Stream, form: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        form(x)
    place, _, text = str(caught.value).partition(": ")
    assert place.startswith("tests/step/test_signs.py:") and text == message


def test_rows_in_tiles_of_so_many(graph: Graph, x: Stream) -> None:
    tiles = x.tiles(4)
    assert str(tiles.type) == "[2] of Tile(FP32, 4, 4)"
    found = values(graph, tiles.rows())
    assert (found[:6] == X).all() and not found[6:].any() and len(found) == 8


def test_all_rows_in_one_tile_and_back(graph: Graph) -> None:
    x = graph.source("x", Tile(FP32, 1, 4), [graph.symbol("N")])
    rows = x.tiles().rows(of=x)
    assert rows.shape == x.shape
    assert (values(graph, rows) == X).all()


def test_rows_of_every_group(graph: Graph) -> None:
    x = graph.source("x", Tile(FP32, 1, 4), [2, 3])
    assert str(x.tiles().type) == "[2] of Tile(FP32, 3, 4)"
    assert str(x.tiles().rows().type) == "[6] of Tile(FP32, 1, 4)"
