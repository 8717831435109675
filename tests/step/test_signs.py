"""Signs between streams, numbers and arrays; rows in tiles, and tiles in rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised

import step
from step import BF16, FP32, INT32, Graph, Stream, Tile, interpret
from step.errors import ProgramError
from step.functions import Add, Div, Matmul, Mul, Scale, Sub
from step.library import softmax

X = np.arange(1.0, 25.0).reshape(6, 1, 4)


@pytest.fixture
def graph() -> Graph:
    return Graph("signs")


@pytest.fixture
def x(graph: Graph) -> Stream:
    return graph.source("x", Tile(FP32, 1, 4), [6])


def values(graph: Graph, stream: Stream, **inputs: Any) -> np.ndarray:
    """What ``stream`` has on the data X, or on others."""
    stream.sink("result")
    found = interpret(graph, inputs or {"x": X}).outputs["result"]
    return np.array([each.value for each in found if each.has_value], np.float64)


@cases(
    lambda x: x + x, lambda x: x - x, lambda x: x * x, lambda x: x + 2, lambda x: 2 + x, lambda x: x - 0.5,
    lambda x: 0.5 - x, lambda x: x * 3, lambda x: 3 * x, lambda x: x / 4, lambda x: -x,
    lambda x: x + np.arange(4.0)[None], lambda x: np.arange(4.0)[None] - x, lambda x: x * np.full((1, 4), 2.0),
    lambda x: x < 9, lambda x: x <= 9, lambda x: x > 9, lambda x: x >= 9, lambda x: x < x,
    lambda x: np.arange(4.0)[None] < x,
)  # fmt: skip
def test_signs_mean_what_they_mean_of_arrays(form: Callable[[Any], Any], graph: Graph, x: Stream) -> None:
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


def test_a_tensor_is_a_tile_beside_each_element(graph: Graph) -> None:
    x, w = np.arange(8.0).reshape(2, 1, 4), np.arange(12.0).reshape(4, 3)
    stream, weight = graph.source("x", Tile(BF16, 1, 4), [2]), graph.tensor("w", (4, 3), FP32)
    beside = stream.beside(weight)
    assert str(beside.type) == "[2] of Tile(FP32, 4, 3)"
    beside.sink("beside")
    product = stream @ graph.tensor("v", (4, 3), BF16)
    assert (values(graph, product, x=x, w=w, v=w) == x @ w).all()


def test_each_sign_is_a_function(graph: Graph, x: Stream) -> None:
    made = [x + x, x - x, x * x, x / x, x * 2, -x]
    functions = [graph.nodes[each.producer].operator.function for each in made]
    assert functions == [Add(), Sub(), Mul(), Div(), Scale(2), Scale(-1)]


def test_formats_and_names(graph: Graph) -> None:
    x = graph.source("x", Tile(BF16, 1, 4), [6])
    product = x.matmul(np.eye(4), out="BF16", name="product")
    assert (product.producer, graph.nodes["product"].operator.function) == ("product", Matmul(out=BF16))
    assert str(x.add(1, out=FP32).type) == "[6] of Tile(FP32, 1, 4)"
    assert str((graph.source("n", Tile(INT32), [6]) * 3).type) == "[6] of Tile(INT32, 1, 1)"


@cases(
    (lambda x: x + "one", "a constant of FP32 must be numbers that FP32 has, not 'one'"),
    (lambda x: x - None, "a constant of FP32 must be numbers that FP32 has, not None"),
    (lambda x: x @ [[1, 2], [3]], "a constant of FP32 must be numbers that FP32 has, not [[1, 2], [3]]"),
    (lambda x: x.graph.turns(2) + 1, "generate_0 has elements Selector(2), with which nothing can be calculated"),
    (lambda x: x.graph.turns(2).tiles(4), "generate_0 has elements Selector(2), and no tiles"),
    (lambda x: x.graph.turns(2).rows(), "generate_0 has elements Selector(2), and no rows"),
    (lambda x: x < "one", "a constant of FP32 must be numbers that FP32 has, not 'one'"),
    (lambda x: x @ x.graph.tensor("t", (2, 3, 4), FP32),
     "a tile must be (rows, columns), two integers >= 1, not (2, 3, 4)"),
    (lambda x: x + 1e300, "a constant of FP32 must be numbers that FP32 has, not 1e+300"),
)  # fmt: skip
def test_what_no_sign_takes(form: Callable[[Any], Any], message: str, x: Stream) -> None:
    caught = raised(ProgramError, lambda: form(x))
    place, _, text = caught.partition(": ")
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


def test_rows_of_every_group_with_their_shape(graph: Graph) -> None:
    x = graph.source("x", Tile(FP32, 1, 4), [3, graph.symbol("N", ragged=True)])
    rows = x.tiles().rows(of=x)
    assert rows.shape == x.shape
    given = [X[:4], X[:0], X[4:]]
    assert (values(graph, rows, x=given) == X).all()


def test_one_along_many(graph: Graph) -> None:
    x = graph.source("x", Tile(FP32, 1, 4), [2])
    many = graph.source("many", Tile(FP32), [2, graph.symbol("N", ragged=True)])
    repeated = x.along(many)
    assert repeated.shape == many.shape
    assert (values(graph, repeated, x=X[:2], many=[[0, 0, 0], [0]]) == X[[0, 0, 0, 1]]).all()


@pytest.mark.parametrize("room", [None, 7])
def test_what_is_parted_is_merged(graph: Graph, x: Stream, room: int | None) -> None:
    which = graph.selectors("which", 2, [6])
    first, second = x.partition(which, targets=2)
    merged = graph.merge([first, second * 10], which, room=room, name="merged")
    assert (merged.producer, merged.shape) == ("merged", x.shape)
    assert [each.depth for each in graph.nodes["reassemble_0"].inputs] == 3 * [room]
    choice = np.array([0, 1, 1, 0, 1, 0])
    assert (values(graph, merged, x=X, which=choice) == np.where(choice[:, None, None] == 0, X, 10 * X)).all()


def test_chunks_are_merged(graph: Graph) -> None:
    x, which = graph.source("x", Tile(FP32), [3, 2]), graph.selectors("which", 2, [3])
    merged = graph.merge(x.partition(which, targets=2, rank=1), which, rank=1)
    assert merged.shape == x.shape
    assert (values(graph, merged, x=[[1, 2], [3, 4], [5, 6]], which=[1, 0, 1]).ravel() == range(1, 7)).all()


def test_what_is_kept_of_rows(graph: Graph) -> None:
    x, which = graph.source("x", Tile(FP32), [3, 2]), graph.selectors("which", 1, [3, 2])
    kept = x.keep(which, name="kept")
    assert (kept.producer, kept.rank, kept.shape[0], kept.shape[1].is_ragged) == ("kept", 1, x.shape[0], True)
    kept.sink("y")
    given = {"x": [[1, 2], [3, 4], [5, 6]], "which": step.masks([[1, 1], [0, 1], [0, 0]])}
    found = step.run(graph, "interpret", inputs=given).outputs["y"].ragged()
    assert (found.values.ravel().tolist(), found.row_splits[0].tolist()) == ([1, 2, 4], [0, 2, 3, 3])


def test_what_is_kept_of_a_plain_stream(graph: Graph, x: Stream) -> None:
    which = graph.selectors("which", 1, [6])
    kept = x.keep(which, name="kept")
    assert (
        kept.producer == "kept" and (values(graph, kept, x=X, which=step.masks([1, 0, 0, 1, 0, 0])) == X[[0, 3]]).all()
    )


def test_softmax_of_rows(graph: Graph) -> None:
    x = graph.source("x", Tile(FP32, 2, 3), [1])
    given = np.array([[[1, 2, 3], [1000, 1000, -np.inf]]])
    expected = np.exp(given - given.max(-1, keepdims=True))
    found = values(graph, softmax(x), x=given)
    np.testing.assert_allclose(found, expected / expected.sum(-1, keepdims=True), rtol=1e-5)
    assert softmax(x, out=BF16, name="soft").element == Tile(BF16, 2, 3)
