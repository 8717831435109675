"""Models whose products are fused sums: outputs as close as those of ordered ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from running_models import error_of
from test_model_decoder import LENGTHS, SMALL, routings

from step import Program
from step.functions import Matmul
from step.running.interpreter import interpret
from step_models import attention, decoder, moe, projection, sampled_routing, swiglu
from step_models.decoder import Schedule

ROUTING = sampled_routing(6, 4, 2, seed=1)

PROGRAMS: dict[str, Any] = {
    "swiglu": lambda **how: swiglu.program(8, 32, 32, **how),
    "swiglu in parts": lambda **how: swiglu.program(8, 32, 32, depth=16, **how),
    "moe": lambda **how: moe.program(ROUTING, experts=4, hidden=32, inner=32, **how),
    "moe by turns": lambda **how: moe.program(ROUTING, experts=4, hidden=32, inner=32, regions=2, rows=None, **how),
    "attention": lambda **how: attention.program(np.array([3, 9]), **how),
    "attention as it is": lambda **how: attention.program(np.array([3, 9]), online=False, **how),
    "qkv": lambda **how: projection.program(**how),
    "qkv in parts": lambda **how: projection.program(depth=16, **how),
    "output projection": lambda **how: projection.output_program(**how),
    "decoder": lambda sum="ordered": decoder.program(SMALL, LENGTHS, routings(1), Schedule(sum=sum)),
}


def sums(program: Program) -> set[str]:
    """How its products add."""
    functions = (node.operator.function for node in program.graph)
    return {function.sum for function in functions if isinstance(function, Matmul)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_products_are_fused(name: str) -> None:
    program = PROGRAMS[name](sum="fused")
    assert sums(program) == {"fused"} and sums(PROGRAMS[name]()) == {"ordered"}
    outputs = interpret(program.graph, program.inputs).outputs
    assert error_of(program, outputs) < 1
    program.expected = {each: 1.02 * expected for each, expected in program.expected.items()}
    assert error_of(program, outputs) > 1, "a wrong result is found"
