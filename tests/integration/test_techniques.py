"""Mixtures of experts on tiles of dynamic rows are exact in RTL."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dynamic import checked

from step import FabricConfig
from step_models import moe

sys.path.append(str(Path(__file__).parents[2] / "examples"))

import moe_mixtral


def test_an_expert_takes_one_tile_of_all_its_rows() -> None:
    """Some take none. Few lanes: the simulator is built of all experts."""
    trace = np.array([[0, 1], [2, 0], [0, 2], [1, 0]])
    fabric = FabricConfig(link_bytes=8, matmul_lanes=4, vector_lanes=2)
    size: dict[str, Any] = {"hidden": 8, "inner": 8, "rows": None, "depth": 8, "columns": 8}
    checked(moe.program(trace, experts=4, **size, fabric=fabric, name="few"))


@pytest.mark.slow
def test_the_example_with_dynamic_tiles() -> None:
    checked(moe_mixtral.dynamic())
