"""How far outputs are from what a program expects, and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases

from step.errors import InputError
from step.language.dtypes import FP32
from step.language.graph import Graph
from step.language.types import Tile
from step.programs.program import Program
from step.running.expectation import Deviation, deviation
from step.running.interpreter import interpret


def found(expected: Any, values: Any = ((1, 2), (3, 4)), tolerance: float = 0.0) -> Deviation | None:
    """Of a program whose output is ``values``."""
    graph = Graph("plain")
    graph.source("x", Tile(FP32), np.shape(values)).sink("y")
    program = Program(graph, {"x": np.array(values)}, tolerance=tolerance)
    program.expected = expected if expected is None or isinstance(expected, dict) else {"y": np.array(expected)}
    return deviation(program, interpret(graph, program.inputs).outputs)


def test_nothing_is_expected() -> None:
    assert found({}) is None


@cases(
    ([[1, 2], [3, 4]], 0.0, 0.0, None),
    ([[1, 2], [3, 5]], 0.25, 0.2, None),
    ([[1, 2], [3, 5]], 0.1, 0.2, "output 'y' is 4 at [1, 1], but 5 is expected"),
    ([[1, 3], [4, 4]], 0.1, 0.25, "output 'y' is 2 at [0, 1], but 3 is expected"),
    ([1, 2, 3.5, 4], 0.0, 0.125, "output 'y' is 3 at [2], but 3.5 is expected"),
    ([[0, 0], [0, 0]], 9.0, np.inf, "output 'y' is 1 at [0, 0], but 0 is expected"),
    ([[1, 2], [np.nan, 4]], 9.0, np.nan, "output 'y' is 3 at [1, 0], but nan is expected"),
    ([[1, 2], [np.inf, 4]], 9.0, np.inf, "output 'y' is 3 at [1, 0], but inf is expected"),
)
def test_deviations(expected: Any, tolerance: float, relative: float, first: str | None) -> None:
    made = found(expected, tolerance=tolerance)
    assert made is not None
    assert (made.close, made.first) == (first is None, first)
    np.testing.assert_equal(made.relative, relative)


def test_infinities_and_nan_are_what_they_are() -> None:
    """The others are measured by the largest finite one."""
    values = [[-np.inf, np.nan], [1.0, 4.0]]
    assert found([[-np.inf, np.nan], [2.0, 4.0]], values, tolerance=0.3) == Deviation(0.25, 0.3, None)


def test_a_stored_tensor_has_its_own_positions(graph: Graph) -> None:
    """However it is cut into tiles, which are stored one behind the other."""
    where = graph.tensor("t", (4, 4), FP32)
    tiles = graph.load(graph.tensor("x", (4, 4), FP32), tile=(2, 2)).flatten(0, 2)
    tiles.store_random(where, graph.count([4], name="places")).sink("done")
    data = np.arange(16.0).reshape(4, 4)
    program = Program(graph, {"x": data, "t": np.zeros((4, 4))})
    outputs = interpret(graph, program.inputs).outputs
    program.expected = {"t": data}
    assert deviation(program, outputs) == Deviation(0.0, 0.0, None)
    wrong = data.copy()
    wrong[1, 3] = 6
    program.expected = {"t": wrong}
    assert deviation(program, outputs) == Deviation(1 / 15, 0.0, "output 't' is 7 at [1, 3], but 6 is expected")


def test_what_can_not_be_compared() -> None:
    with pytest.raises(InputError, match=r"^output 'y' has 4 scalars, but 3 are expected$"):
        found([1, 2, 3])
    with pytest.raises(InputError, match=r"^there is no output 'z' to compare with the expected one$"):
        found({"z": np.zeros(4)})
