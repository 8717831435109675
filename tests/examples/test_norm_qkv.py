"""RMSNorm and the projections of q, k and v: they mean what float64 says, and read weights once."""

from __future__ import annotations

from typing import Any

import norm_qkv
import numpy as np
import pytest
from cases import cases
from test_examples import assert_clean, assert_close, numbers

from sim_approx import backend as approx
from step.programs.program import Program
from step.running.interpreter import interpret
from step_models import projection


def assert_runs(program: Program) -> None:
    """The fast model gives the interpreter's bits, and these are close to float64."""
    assert_clean(program)
    assert_close(program)
    meaning = interpret(program.graph, program.inputs).outputs
    result = approx.run(program.graph, program.inputs, program.fabric, values="all")
    assert result.outputs is not None and set(result.outputs) == {"q", "k", "v"}
    for name, tokens in result.outputs.items():
        got = [token.value.tobytes() for token in tokens if token.has_value]
        assert got == [token.value.tobytes() for token in meaning[name] if token.has_value]


@cases(
    {},
    {"tokens": 1, "rows": 1},
    {"tokens": 12, "rows": 2},
    {"hidden": 32, "heads": 2, "groups": 2, "head": 8, "columns": 8},
    {"rows": 2, "heads": 8, "groups": 1, "depth": 32, "columns": 8},
    {"tokens": 4, "hidden": 16, "heads": 1, "groups": 1},
    ids=str,
)
def test_sizes(sizes: dict[str, Any]) -> None:
    assert_runs(norm_qkv.program(**sizes))


@pytest.mark.parametrize("factor", [0, 1e-3, 1e6])
def test_rows_of_any_length_are_normed(factor: float) -> None:
    """Rows of zeros stay zeros, and those near it are held back by epsilon."""
    program = norm_qkv.program()
    x = (program.inputs["x"].astype(np.float64) * factor).astype(program.inputs["x"].dtype)
    program.inputs["x"] = x
    normed = projection.norm_reference(x, program.inputs["norm"], 1e-5)
    program.expected = {name: projection.reference(normed, program.inputs[f"w{name}"])[0] for name in "qkv"}
    assert_runs(program)


@pytest.mark.parametrize("tokens", [4, 8, 32])
def test_what_it_costs(tokens: int) -> None:
    found = numbers(norm_qkv.program(tokens=tokens))
    outputs = 64 + 32 + 32
    # all weights once, however many rows there are; rows are read and projections written in BF16
    assert found["off_chip_bytes"] == 2 * (64 * outputs + 64 + tokens * (64 + outputs))
    # per row: the squares and their sum, factor and weight per scalar; mean, epsilon and root; the products
    assert found["flops"] == tokens * (4 * 64 + 1 + 1 + 2 + 2 * 64 * outputs)
