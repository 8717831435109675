"""Experts by turns on the fast model, with other routings and dimensions: it always ends, with the right outputs."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from grids import samples

from sim_approx import backend as approx
from step.programs.program import Program
from step.running.interpreter import interpret
from step.running.result import RunResult
from step_models.routing import measured_routing

sys.path.append(str(Path(__file__).parents[2] / "examples"))

import moe_mixtral
import moe_multiplexed

TOKENS, EXPERTS = 64, moe_mixtral.EXPERTS

ROUTINGS = {
    "traced": measured_routing(moe_mixtral.TRACE, EXPERTS),
    "two experts of a region": np.tile([[1, 0]], (TOKENS, 1)),
    "three experts in turn": np.array([[each % 3, (each + 1) % 3] for each in range(TOKENS)]),
    "one expert after the other": np.repeat(np.arange(EXPERTS), TOKENS // EXPERTS)[:, None],
    "the last expert first": np.repeat(np.arange(EXPERTS)[::-1], TOKENS // EXPERTS)[:, None],
    "all experts a token": np.tile(np.arange(EXPERTS), (TOKENS, 1)),
    "one token": np.array([[5, 2]]),
}
SIZES = [
    {"hidden": 32, "inner": 16},
    {"hidden": 16, "inner": 16, "tile_rows": 16},
    {"hidden": 16, "inner": 32, "tile_rows": 1},
]


def run(program: Program) -> RunResult:
    return approx.run(program.graph, program.inputs, program.fabric, values="all")


@samples(routing=ROUTINGS, size=SIZES, regions=[1, 2, 4])
def test_every_routing_ends(routing: str, size: dict[str, int], regions: int) -> None:
    program = moe_multiplexed.build(ROUTINGS[routing], regions, **size)
    result = run(program)
    meaning = interpret(program.graph, program.inputs, arrivals=result.arrivals)
    assert result.outputs is not None
    got, wanted = result.outputs["output"], meaning.outputs["output"]
    assert [token.value.tobytes() for token in got] == [token.value.tobytes() for token in wanted]


@pytest.mark.parametrize("routing, order", [("one expert after the other", 1), ("the last expert first", -1)])
def test_experts_take_turns_as_they_come(routing: str, order: int) -> None:
    """Two tiles an expert, which stay together."""
    result = run(moe_multiplexed.build(ROUTINGS[routing], 2, hidden=16, inner=16))
    for region in range(2):
        assert result.arrivals[f"region{region}_turns"] == [0, 0, 1, 1, 2, 2, 3, 3][::order]


def test_where_memory_is_the_limit_fewer_regions_cost_little() -> None:
    """Half the matmuls, an eighth more cycles: the weights come through one channel of memory either way."""
    cycles = []
    for regions in (8, 4):
        program = moe_multiplexed.build(ROUTINGS["traced"], regions)
        fabric = replace(program.fabric, memory=replace(program.fabric.memory, channels=1))
        cycles.append(approx.run(program.graph, program.inputs, fabric).cycles)
    assert cycles[0] < cycles[1] < 1.125 * cycles[0]
