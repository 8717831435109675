"""Input data: arrays, nested lists, selectors in all their spellings, and what does not fit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from running import NUMBER

from step.errors import InputError
from step.language.dtypes import BF16, FP32, INT32
from step.language.graph import Graph
from step.language.tokens import show
from step.language.types import Selector, Tile
from step.programs.inputs import bind_inputs, cut_tiles


def selected(dims: list[Any], value: Any, targets: int = 3) -> str:
    graph = Graph("g")
    names = [graph.symbol(each, ragged=place > 0) if isinstance(each, str) else each for place, each in enumerate(dims)]
    graph.selectors("which", targets, names)
    return show(bind_inputs(graph, {"which": value}).streams["which"])


@pytest.mark.parametrize(
    ("dims", "value", "text"),
    [
        # an integer each
        ([3], np.array([0, 2, 1]), "1 4 2 D"),
        # k integers each
        ([2], np.array([[0, 2], [1, 0]]), "5 3 D"),
        ([2], np.array([[1, 1], [2, 2]]), "2 4 D"),
        # booleans
        ([2], np.array([[True, False, True], [False, False, False]]), "5 0 D"),
        ([2, 2], np.array([[0, 1], [2, 0]]), "1 2 S1 4 1 S1 D"),
        (["N"], np.zeros(0, int), "D"),
        (["N", 2], np.zeros((0, 2), int), "D"),
        # nested lists, ragged ones too: masks, or lists of targets
        (["N", "R"], [[1, 2], [], [4]], "1 2 S1 E1 4 S1 D"),
        (["N"], [[0, 2], [], [1]], "5 0 2 D"),
        (["N", "R"], [[[0], [1, 2]], []], "1 6 S1 E1 D"),
    ],
)
def test_selectors(dims: list[Any], value: Any, text: str) -> None:
    assert selected(dims, value) == text


@pytest.mark.parametrize(
    ("dims", "value", "message"),
    [
        ([2], np.array([0, 3]), "input 'which' selects target 3, but its targets are 0 to 2"),
        ([2], np.array([0, -1]), "input 'which' selects target -1, but its targets are 0 to 2"),
        ([3], np.array([0, 1]), "input 'which' must have the dimensions [3], not [2]"),
        ([2], np.array([0.0, 1.0]),
         "input 'which' must be integers [2] or [2, k], or booleans [2, 3], not float64 [2]"),
        ([2], np.array([True, False]),
         "input 'which' must be integers [2] or [2, k], or booleans [2, 3], not bool [2]"),
        (["N"], [8], "input 'which' is no stream of rank 0 of Selector(3): 8 is no Selector(3)"),
        (["N"], [[3]], "input 'which' is no stream of rank 0 of Selector(3): targets are 0 to 2, not [3]"),
    ],
)  # fmt: skip
def test_selectors_that_do_not_fit(dims: list[Any], value: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        selected(dims, value)
    assert str(error.value) == message


def tiles(element: Tile, dims: list[Any], value: Any) -> list[Any]:
    graph = Graph("g")
    names = [graph.symbol(each, ragged=place > 0) if isinstance(each, str) else each for place, each in enumerate(dims)]
    graph.source("x", element, names)
    return [token.value.tolist() for token in bind_inputs(graph, {"x": value}).streams["x"] if token.has_value]


def test_tiles_from_arrays() -> None:
    assert tiles(NUMBER, [3], np.array([5, 6, 7])) == [[[5]], [[6]], [[7]]]
    assert tiles(Tile(INT32, 1, 2), [2], np.arange(4).reshape(2, 1, 2)) == [[[0, 1]], [[2, 3]]]
    assert tiles(NUMBER, ["N"], np.zeros(0, int)) == []


def test_numbers_are_rounded_to_the_declared_type() -> None:
    assert tiles(Tile(BF16), [1], np.array([1.00390625])) == [[[1.0]]]  # a tie, to even
    assert tiles(Tile(BF16), ["N", "R"], [[1.0], [], [1.01171875]]) == [[[1.0]], [[1.015625]]]


@pytest.mark.parametrize(
    ("element", "dims", "value", "message"),
    [
        (Tile(FP32, 2, 2), [3], np.zeros((3, 2, 3)), "input 'x' must have shape [3, 2, 2], not [3, 2, 3]"),
        (Tile(FP32, 2, 2), [3], np.zeros(3), "input 'x' must have shape [3, 2, 2], not [3]"),
        (NUMBER, [3], np.zeros(4), "input 'x' must have the dimensions [3], not [4]"),
        (NUMBER, ["N", 2], np.zeros((4, 3)), "input 'x' must have the dimensions [N, 2], not [4, 3]"),
    ],
)
def test_tiles_that_do_not_fit(element: Tile, dims: list[Any], value: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        tiles(element, dims, value)
    assert str(error.value) == message


@pytest.mark.parametrize("value", [[1, [2]], [[1], 2], 7, ["x"]])
def test_lists_of_another_depth(value: Any) -> None:
    with pytest.raises(InputError, match=r"^input 'x' is no stream of rank 1 of Tile\(INT32, 1, 1\): "):
        tiles(NUMBER, ["N", "R"], value)


def test_names() -> None:
    graph = Graph("g")
    graph.tensor("a", (2, 2), BF16)
    graph.source("x", NUMBER, [1])
    for inputs, message in (
        ({}, "there is no input 'a'; the program needs a, x"),
        ({"a": np.zeros((2, 2))}, "there is no input 'x'; the program needs a, x"),
        ({"a": np.zeros((2, 2)), "x": [1], "y": 1}, "the program has no tensor or source 'y'; it has a, x"),
        ({"a": np.zeros((2, 3)), "x": [1]}, "input 'a' must have shape [2, 2], not [2, 3]"),
    ):
        with pytest.raises(InputError) as error:
            bind_inputs(graph, inputs)
        assert str(error.value) == message


def test_a_tensor_becomes_its_type() -> None:
    graph = Graph("g")
    graph.tensor("a", (1, 2), BF16)
    bound = bind_inputs(graph, {"a": [[1, 2.00390625]]}).tensors["a"]
    assert bound.dtype == ml_dtypes.bfloat16 and bound.astype(float).tolist() == [[1.0, 2.0]]


def test_tiles_are_cut_row_major() -> None:
    cut = cut_tiles(np.arange(24).reshape(4, 6), (2, 3))
    assert cut.shape == (4, 2, 3)
    assert [tile.tolist() for tile in cut[:2]] == [[[0, 1, 2], [6, 7, 8]], [[3, 4, 5], [9, 10, 11]]]
    assert cut[2, 0, 0] == 12


def test_targets_need_a_selector() -> None:
    assert Selector(3).accepts(5) and selected([1], np.array([[0, 2]])) == "5 D"
