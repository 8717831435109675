"""RMSNorm and the projections of q, k and v: they mean what float64 says, and read weights once."""

from __future__ import annotations

import norm_qkv
import numpy as np
import pytest
from test_examples import assert_runs, numbers

from step_models import projection


@pytest.mark.parametrize("factor", [0, 1e-3, 1e6])
def test_rows_of_any_length_are_normed(factor: float) -> None:
    """Rows of zeros stay zeros, and those near it are held back by epsilon."""
    program = norm_qkv.program()
    x = (program.inputs["x"].astype(np.float64) * factor).astype(program.inputs["x"].dtype)
    program.inputs["x"] = x
    normed = projection.norm_reference(x, program.inputs["norm"], 1e-5)
    program.expected = {name: projection.reference(normed, program.inputs[f"w{name}"])[0] for name in "qkv"}
    assert set(assert_runs(program)) == {"q", "k", "v"}


@pytest.mark.parametrize("tokens", [4, 8, 32])
def test_what_it_costs(tokens: int) -> None:
    found = numbers(norm_qkv.program(tokens=tokens))
    outputs = 64 + 32 + 32
    # all weights once, however many rows there are; rows are read and projections written in BF16
    assert found["off_chip_bytes"] == 2 * (64 * outputs + 64 + tokens * (64 + outputs))
    # per row: the squares and their sum, factor and weight per scalar; mean, epsilon and root; the products
    assert found["flops"] == tokens * (4 * 64 + 1 + 1 + 2 + 2 * 64 * outputs)
