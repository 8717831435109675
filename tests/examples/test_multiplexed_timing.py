"""Experts by turns on the fast model: their order, and their cycles where memory is the limit."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim_approx import backend as approx
from step_models.routing import measured_routing

sys.path.append(str(Path(__file__).parents[2] / "examples"))

import moe_mixtral
import moe_multiplexed

TOKENS, EXPERTS = 64, moe_mixtral.EXPERTS


@pytest.mark.parametrize("order", [1, -1])
def test_experts_take_turns_as_they_come(order: int) -> None:
    """Two tiles an expert, which stay together."""
    routing = np.repeat(np.arange(EXPERTS)[::order], TOKENS // EXPERTS)[:, None]
    program = moe_multiplexed.build(routing, 2, hidden=16, inner=16)
    result = approx.run(program.graph, program.inputs, program.fabric)
    for region in range(2):
        assert result.arrivals[f"region{region}_turns"] == [0, 0, 1, 1, 2, 2, 3, 3][::order]


def test_where_memory_is_the_limit_fewer_regions_cost_little() -> None:
    """Half the matmuls, an eighth more cycles: the weights come through one channel of memory either way."""
    cycles, traced = [], measured_routing(moe_mixtral.TRACE, EXPERTS)
    for regions in (8, 4):
        program = moe_multiplexed.build(traced, regions)
        fabric = replace(program.fabric, memory=replace(program.fabric.memory, channels=1))
        cycles.append(approx.run(program.graph, program.inputs, fabric).cycles)
    assert cycles[0] < cycles[1] < 1.125 * cycles[0]
