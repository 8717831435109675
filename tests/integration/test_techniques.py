"""A mixture of experts by three techniques: exact in RTL, and what dynamic tiles and turns save."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from dynamic import checked

from benchmarks.techniques import Size
from step import metrics
from step.running.interpreter import bind
from step_models.routing import measured_routing

sys.path.append(str(Path(__file__).parents[2] / "examples"))

import moe_mixtral

SMALL = Size(tokens=6, hidden=16, inner=16, columns=8, rows=2)


def test_an_expert_takes_one_tile_of_all_its_rows() -> None:
    """Some take none. Few lanes: the simulator is built of eight experts."""
    trace = measured_routing(moe_mixtral.TRACE, moe_mixtral.EXPERTS)[: SMALL.tokens]
    program = moe_mixtral.build(trace, hidden=16, inner=8, step=8, dynamic=True)
    checked(replace(program, fabric=replace(program.fabric, link_bytes=8, matmul_lanes=4, vector_lanes=2)))


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
