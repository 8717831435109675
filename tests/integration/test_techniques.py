"""A mixture of experts by three techniques: exact in RTL, and what dynamic tiles and turns save."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dynamic import checked

from benchmarks.techniques import Size
from step import FabricConfig, metrics
from step.running.interpreter import bind
from step_models import moe

sys.path.append(str(Path(__file__).parents[2] / "examples"))

import moe_mixtral

SMALL = Size(tokens=6, hidden=16, inner=16, columns=8, rows=2)


def test_an_expert_takes_one_tile_of_all_its_rows() -> None:
    """Some take none. Few lanes: the simulator is built of all experts."""
    trace = np.array([[0, 1], [2, 0], [0, 2], [1, 0]])
    fabric = FabricConfig(link_bytes=8, matmul_lanes=4, vector_lanes=2)
    size: dict[str, Any] = {"hidden": 16, "inner": 8, "rows": None, "depth": 8, "columns": 8}
    checked(moe.program(trace, experts=4, **size, fabric=fabric, name="few"))


@pytest.mark.slow
def test_the_example_with_dynamic_tiles() -> None:
    checked(moe_mixtral.dynamic())


@pytest.mark.slow
def test_every_technique_is_exact() -> None:
    for program in SMALL.techniques().values():
        checked(program)


def test_what_is_saved() -> None:
    """By dynamic tiles most traffic, and by turns memory."""
    static, dynamic, turns = (
        metrics(each.graph, each.fabric).bind(bind(each.graph, each.inputs)) for each in Size().techniques().values()
    )
    assert (static.off_chip_bytes, dynamic.off_chip_bytes, turns.off_chip_bytes) == (909_568, 221_440, 221_440)
    assert turns.on_chip_bytes < static.on_chip_bytes < dynamic.on_chip_bytes
