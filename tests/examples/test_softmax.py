"""Softmax over ragged rows: both forms mean what float64 says, whatever the lengths are."""

from __future__ import annotations

import numpy as np
import pytest
import softmax
from test_examples import assert_close, assert_runs, numbers

LENGTHS: dict[str, list[int]] = {
    "as in the example": list(softmax.LENGTHS),
    "an empty row": [0],
    "empty rows": [0, 0, 0],
    "a column": [1],
    "full tiles": [16, 64, 48],
    "a column more, or less": [17, 15, 63, 49],
    "empty rows first and last": [0, 0, 33, 0, 5, 0],
    "many": [*range(65)],
}


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_lengths(lengths: list[int], running: bool) -> None:
    tiles = np.concatenate(
        [np.zeros((0, softmax.COLUMNS), np.float32), *assert_runs(softmax.build(lengths, running))["output"]]
    )
    # What is behind the end of a row has no share of it.
    valid = [column < length for length in lengths for column in range(-(-length // 16) * 16)]
    assert (tiles.ravel()[~np.array(valid, bool)] == 0).all()
    assert tiles.sum() == pytest.approx(sum(length > 0 for length in lengths), rel=1e-5)


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize(
    "row",
    [
        np.full(64, 3e38), np.linspace(-1e30, 1e30, 64), np.arange(64) * 100.0, -np.arange(64) * 100.0,
        np.where(np.arange(64) == 5, 0.0, -np.inf), np.zeros(64),
    ],
    ids=["large", "far apart", "rising", "falling", "one is possible", "equal"],
)  # fmt: skip
def test_rows(row: np.ndarray, running: bool) -> None:
    """Powers of differences to the maximum do not overflow."""
    program = softmax.build([64], running)
    x = row.astype(program.inputs["x"].dtype)[None]
    program.inputs["x"] = x
    program.expected["output"] = softmax.reference(x, [64])
    assert_runs(program)


def test_a_wrong_result_is_found() -> None:
    """The tolerance is far below what one column too many would do."""
    program = softmax.program()
    program.expected["output"] = softmax.reference(
        program.inputs["x"], [each + (each == 33) for each in softmax.LENGTHS]
    )
    with pytest.raises(AssertionError):
        assert_close(program)


@pytest.mark.parametrize("running, flops_of_a_tile", [(False, 16 + 16 + 64 + 16 + 16), (True, 16 + 2 * (16 + 64) + 32)])
def test_what_it_costs(running: bool, flops_of_a_tile: int) -> None:
    found = numbers(softmax.build(running=running))
    tiles = sum(-(-length // 16) for length in softmax.LENGTHS)
    # BF16 tiles are read once, and FP32 tiles written
    assert found["off_chip_bytes"] == tiles * 16 * (2 + 4)
    # per tile besides: the maximum and the sum of the row; or both maxima so far, a scale of 5, and 2 for the sum
    assert found["flops"] == tiles * (flops_of_a_tile + (10 if running else 2))
