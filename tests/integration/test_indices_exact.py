"""Selectors of indices, indices of selectors, and numbers that are only stored, in RTL; all in one build."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from dynamic import checked
from scenarios import SCENARIOS

from step import Program
from step.lowering.fabric import FabricConfig
from step_check.fuzz.farm import side_by_side

sys.path.append(str(Path(__file__).parents[1] / "models"))

from routed_by_indices import expert_choice, sparse_pages

pytestmark = pytest.mark.large

SMALL = [each.build for each in SCENARIOS if "_indices" in each.name or "-stored" in each.name]


def test_programs_that_route_by_indices() -> None:
    graph, inputs = side_by_side("indices", [expert_choice, sparse_pages, *SMALL])
    checked(Program(graph, inputs, FabricConfig(vector_lanes=4, matmul_lanes=4, link_bytes=16)))
