"""Outputs of a run as arrays, lists, and values with row splits."""

from __future__ import annotations

from typing import Any

import numpy as np
from raising import raised

import step
from step import BF16, FP32, INT32, UINT32, Graph, Tile
from step.functions import Add
from step.running.output import Output


def output_of(build: Any, **inputs: Any) -> Output:
    """The output ``y`` of the graph that ``build`` makes, on ``inputs``."""
    graph = Graph("shown")
    build(graph)
    return step.run(graph, "interpret", inputs=inputs).outputs["y"]


def played(element: Any, *dims: Any) -> Any:
    def build(graph: Graph) -> None:
        names = {name: graph.symbol(name, ragged=name == "R") for name in dims if isinstance(name, str)}
        graph.source("x", element, [names.get(each, each) for each in dims]).sink("y")

    return build


def test_a_regular_output_is_an_array() -> None:
    data = np.arange(24, dtype=np.float32).reshape(3, 2, 1, 4)
    for dims in ((3, 2), ("N", 2), ("N", "R")):
        found = output_of(played(Tile(BF16, 1, 4), *dims), x=data)
        assert (found.numpy().dtype, found.numpy().shape) == (BF16.numpy, (3, 2, 1, 4))
        assert np.array_equal(np.asarray(found, np.float32), data) and len(found) == 3
        assert np.array_equal(np.array(found.nested()).reshape(6, 1, 4), found.numpy().reshape(6, 1, 4))


def test_a_scalar_is_a_tile() -> None:
    assert output_of(played(Tile(INT32), 3), x=[1, 2, 3]).numpy().tolist() == [[[1]], [[2]], [[3]]]


def test_dimensions_that_nobody_shows() -> None:
    assert output_of(played(Tile(FP32, 1, 4), "N", 2), x=[]).numpy().shape == (0, 2, 1, 4)
    assert output_of(played(Tile(FP32, 1, 4), "N", "R"), x=[[], []]).numpy().shape == (2, 0, 1, 4)
    assert output_of(played(Tile(FP32, 1, 4), 0), x=[]).numpy().shape == (0, 1, 4)
    assert len(output_of(played(Tile(FP32), "N"), x=[])) == 0


def test_a_ragged_output_is_lists_or_values_and_row_splits() -> None:
    found = output_of(played(Tile(INT32), 2, "N", "R"), x=[[[1, 2], []], [[], [3]]])
    assert raised(ValueError, found.numpy) == (
        "output 'y' is no array: dimension 2 of [2, N, R] has 0 to 2 elements; "
        "nested() gives lists, ragged() values and row splits"
    )
    assert [[[int(tile[0, 0]) for tile in row] for row in rows] for rows in found.nested()] == [[[1, 2], []], [[], [3]]]
    values, splits = found.ragged()
    assert values.tolist() == [[[1]], [[2]], [[3]]]
    assert [each.tolist() for each in splits] == [[0, 2, 4], [0, 2, 2, 2, 3]]


def test_selectors_are_multi_hot() -> None:
    def build(graph: Graph) -> None:
        graph.selectors("x", 3, [2]).sink("y")

    assert output_of(build, x=[[0, 2], []]).numpy().tolist() == [[True, False, True], [False, False, False]]


def test_tuples_are_arrays_side_by_side() -> None:
    def build(graph: Graph) -> None:
        graph.source("x", Tile(INT32), [2, 2]).zip(graph.selectors("which", 2, [2, 2])).sink("y")

    numbers, which = output_of(build, x=[[1, 2], [3, 4]], which=[[0, 1], [1, 1]]).numpy()
    assert numbers.shape == (2, 2, 1, 1) and which.shape == (2, 2, 2)


def test_a_stored_tensor_has_its_own_shape() -> None:
    def build(graph: Graph) -> None:
        tensor = graph.tensor("y", (2, 4, 6), INT32)
        rows = graph.source("rows", Tile(INT32, 2, 3), [1])
        rows.store_random(tensor, graph.source("at", Tile(UINT32), [1])).sink("done")

    before = np.arange(48).reshape(2, 4, 6)
    found = output_of(build, y=before, rows=[np.full((2, 3), -1)], at=[5])
    after = before.copy()
    after[1, 0:2, 3:6] = -1  # tile 5 of 2 x 2 x 2
    assert np.array_equal(found.numpy(), after) and found.is_tensor


def test_tiles_that_differ_in_size_are_no_array() -> None:
    def build(graph: Graph) -> None:
        graph.source("x", Tile(INT32, graph.symbol("T", ragged=True), 2), [2]).sink("y")

    found = output_of(build, x=[np.zeros((1, 2)), np.zeros((3, 2))])
    for read in (found.numpy, found.ragged):
        assert raised(ValueError, read) == "output 'y' is no array: its tiles differ in size; nested() gives lists"
    assert [tile.shape for tile in found.nested()] == [(1, 2), (3, 2)]
    assert output_of(build, x=[np.zeros((3, 2))] * 2).numpy().shape == (2, 3, 2)


def test_buffers_are_no_array() -> None:
    def build(graph: Graph) -> None:
        graph.source("x", Tile(INT32), [2, 3]).bufferize(rank=1).sink("y")

    error = raised(ValueError, output_of(build, x=[[1, 2, 3], [4, 5, 6]]).numpy)
    assert error == (
        "output 'y' has elements of Buffer(Tile(INT32, 1, 1), [3]), which no array can have; nested() gives lists"
    )


def test_an_output_shows_itself_in_a_line() -> None:
    assert repr(output_of(played(Tile(FP32), 3), x=[1, 2, 3])) == "<output y: [3] of Tile(FP32, 1, 1)>"


def test_every_back_end_with_outputs_has_them_alike(graph: Graph) -> None:
    graph.source("x", Tile(FP32), [graph.symbol("N"), graph.symbol("R", ragged=True)]).accum(Add()).sink("y")
    data = {"x": [[1, 2], [], [3]]}
    runs = [step.run(graph, "interpret", inputs=data), step.run(graph, "approx", inputs=data, values="all")]
    assert [each.outputs["y"].numpy().ravel().tolist() for each in runs] == [[3, 0, 3]] * 2
