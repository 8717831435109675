"""Workloads in RTL: every token on time, and outputs equal bit for bit; `test_exact` has smaller ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_exact import check

from step import FabricConfig, MemoryConfig, Program
from step_models import Configuration, attention, decoder, moe, projection, sampled_routing, swiglu

FABRIC = FabricConfig(matmul_lanes=8, vector_lanes=4, link_bytes=16, memory=MemoryConfig(beat_bytes=16))
LENGTHS = np.array([3, 0, 9, 2])
MODEL = Configuration(
    "small", layers=1, hidden=16, inner=16, experts=2, experts_per_token=1, query_heads=4, key_value_heads=2,
    head_size=8,
)  # fmt: skip
ROUTING = sampled_routing(4, 4, 2)


def experts(regions: int | None, **how: Any) -> Program:
    return moe.program(ROUTING, experts=4, hidden=16, inner=16, columns=8, regions=regions, fabric=FABRIC, **how)


def heads(arrangement: attention.Arrangement, **how: Any) -> Program:
    return attention.program(LENGTHS, arrangement=arrangement, regions=2, heads=1, size=8, fabric=FABRIC, **how)


def layer(**how: Any) -> Program:
    """Half as many lanes: the simulator of this one takes longest to build."""
    routing = sampled_routing(4, MODEL.experts, MODEL.experts_per_token)
    narrow = replace(FABRIC, matmul_lanes=4, vector_lanes=2)
    return decoder.program(MODEL, LENGTHS, [routing], decoder.Schedule(columns=8, **how), fabric=narrow)


WORKLOADS: dict[str, Callable[[], Program]] = {
    "an expert": lambda: swiglu.program(4, 16, 16, rows=2, columns=8, fabric=FABRIC),
    "experts": lambda: experts(None),
    "experts by turns": lambda: experts(2),
    "experts with one tile of all their rows": lambda: experts(None, rows=None),
    "such experts on weight tiles of half the depth": lambda: experts(None, rows=None, depth=8),
    "such experts by turns": lambda: experts(2, rows=None),
    "coarse attention, direct and not scaled": lambda: heads("coarse", online=False, scaled=False),
    "interleaved attention, direct": lambda: heads("interleaved", online=False),
    "dynamic attention, not scaled": lambda: heads("dynamic", scaled=False),
    "coarse attention on one tile of all rows, direct and not scaled": lambda: heads(
        "coarse", rows=None, online=False, scaled=False
    ),
    "dynamic attention on such tiles": lambda: heads("dynamic", rows=None),
    "dynamic attention over time": lambda: heads("dynamic", gaps=np.array([0, 100, 1, 90])),
    "projections": lambda: projection.program(4, 16, 4, 2, 8, columns=8, held=False, fabric=FABRIC),
    "output projection": lambda: projection.output_program(4, 16, 2, 8, columns=8, fabric=FABRIC),
    "decoder layer": layer,
    "decoder layer of such experts and such attention": lambda: layer(expert_rows=None, cache_rows=None),
}


@pytest.mark.slow
@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_workloads_are_exact(workload: Callable[[], Program]) -> None:
    check(workload())
