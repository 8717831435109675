"""Norms and projections: outputs, traffic with weights that stay on chip and that do not, and what does not divide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised
from running_models import assert_runs

from step.errors import InputError
from step.programs.metrics import metrics
from step_models import projection

SMALL: dict[str, Any] = {"hidden": 32, "heads": 4, "head": 8}


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("depth", [16, None])
def test_projections(held: bool, depth: int | None) -> None:
    made = (
        projection.program(8, **SMALL, groups=2, depth=depth, held=held),
        projection.output_program(8, **SMALL, depth=depth, held=held),
    )
    for program, weights in zip(made, (32 * 64 + 32, 32 * 32), strict=True):
        assert_runs(program)
        outputs = sum(each.size for each in program.expected.values())
        # the scale of the norm stays on chip
        reads = weights if held else 2 * weights - (32 if "norm" in program.inputs else 0)
        assert int(metrics(program.graph, program.fabric).off_chip_bytes) == 2 * (8 * 32 + reads + outputs)


@cases({"tokens": 1, "rows": 1}, {"tokens": 12, "rows": 2}, {"heads": 8, "groups": 1, "columns": 8}, ids=str)
def test_sizes(sizes: dict[str, int]) -> None:
    assert_runs(projection.program(**sizes))


@pytest.mark.parametrize("hidden", [32, 64])
def test_a_layer_norm(hidden: int) -> None:
    program = projection.program(8, hidden, heads=4, groups=2, head=8, norm="layer")
    assert_runs(program)
    outputs = sum(each.size for each in program.expected.values())
    reads = 8 * hidden + hidden * 64 + 2 * hidden  # scale and bias once
    assert int(metrics(program.graph, program.fabric).off_chip_bytes) == 2 * (reads + outputs)


def test_what_a_layer_norm_is() -> None:
    rows, scale, bias = np.array([[1.0, 2, 3, 6]]), np.array([[1, 1, 2, 1]]), np.array([[0, 0, 0, 1]])
    normed = projection.layer_norm_reference(rows, scale, bias, 0.5)
    assert np.allclose(normed, [[-1, -0.5, 0, 2.5]])


@pytest.mark.parametrize("make", [projection.program, projection.output_program])
@cases(
    ({"tokens": 0}, "there must be at least one token, not 0"),
    ({"tokens": 6}, "rows, the rows of a tile, must divide tokens = 6, but 4 does not"),
    ({"depth": 12},
     "depth, the extent of a weight tile along its rows, must divide the columns of x = 32, but 12 does not"),
)  # fmt: skip
def test_what_does_not_divide(changes: dict[str, int], message: str, make: Any) -> None:
    assert raised(InputError, lambda: make(**{**SMALL, **changes})) == message


@cases(
    (projection.program, {"hidden": 0}, "the columns of x must be at least 1, not 0"),
    (projection.program, {"heads": 0}, "heads * head must be at least 1, not 0"),
    (projection.program, {"groups": -1}, "heads * head must be at least 1, not -8"),
    (projection.program, {"norm": "batch"}, 'program needs norm to be "rms" or "layer", not \'batch\''),
    (projection.program, {"epsilon": np.nan}, "the epsilon of a norm must be a number >= 0, not nan"),
    (projection.output_program, {"hidden": 0}, "hidden must be at least 1, not 0"),
    (projection.output_program, {"head": 0}, "the columns of x must be at least 1, not 0"),
)
def test_dimensions_that_no_projection_has(make: Any, changes: dict[str, Any], message: str) -> None:
    assert raised(InputError, lambda: make(**{**SMALL, **changes})) == message


def test_heads_that_do_not_divide() -> None:
    error = raised(InputError, lambda: projection.program(**SMALL, groups=1))
    assert error == (
        "columns, the extent of a weight tile along the heads, must divide heads * head = 8, but 16 does not"
    )
