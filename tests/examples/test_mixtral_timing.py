"""The Mixtral example on the fast model, with other routings and dimensions: it always ends, with the right outputs."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from grids import samples

from sim_approx import backend as approx
from step.running.interpreter import interpret
from step_models.routing import measured_routing

sys.path.append(str(Path(__file__).parents[2] / "examples"))

import moe_mixtral

TOKENS, EXPERTS = 64, moe_mixtral.EXPERTS


def drawn(chosen: int) -> np.ndarray:
    """``chosen`` different experts for every token."""
    random = np.random.default_rng(chosen)
    return np.stack([random.permutation(EXPERTS)[:chosen] for _ in range(TOKENS)])


ROUTINGS = {
    "traced": measured_routing(moe_mixtral.TRACE, EXPERTS),
    "two experts only": np.tile([[0, 1]], (TOKENS, 1)),
    "one expert a token": drawn(1),
    "three experts a token": drawn(3),
}
SIZES = [
    {"hidden": 32, "inner": 32},
    {"hidden": 16, "inner": 16, "tile_rows": 16},
    {"hidden": 64, "inner": 32, "tile_rows": 1},
]


@samples(size=SIZES, routing=ROUTINGS)
def test_every_routing_ends(routing: str, size: dict[str, int]) -> None:
    program = moe_mixtral.build(ROUTINGS[routing], **size)
    result = approx.run(program.graph, program.inputs, program.fabric, values="all")
    meaning = interpret(program.graph, program.inputs, arrivals=result.arrivals)
    assert result.outputs is not None
    got, wanted = result.outputs["output"], meaning.outputs["output"]
    assert [token.value.tobytes() for token in got] == [token.value.tobytes() for token in wanted]
