"""A value that another one would replace is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised

import step
import step_torch
from step import FP32, Graph, Program, Tile
from step.errors import InputError
from step.lowering.settings import check_settings, in_effect
from step_models import swiglu

SAME = "set the same parameter of the fabric: leave one of them out"


def doubled() -> Program:
    graph = Graph("doubled")
    (2 * graph.source("x", Tile(FP32), [2])).sink("y")
    return Program(graph, {"x": np.ones(2)})


@cases(
    (["fabric.stages=1", "stages=2"], f"'fabric.stages=1' and 'stages=2' {SAME}"),
    (["memory=hbm2", "memory=ddr4"], f"'memory=hbm2' and 'memory=ddr4' {SAME}"),
    (["memory.channels=8", "memory.bandwidth=64"], f"'memory.channels=8' and 'memory.bandwidth=64' {SAME}"),
    (["memory.channels=8", "memory=hbm2"],
     "'memory=hbm2' would replace 'memory.channels=8', which stands before it: give memory first"),
    (["memory.bandwidth=64", "memory.beat_bytes=32"],
     "'memory.beat_bytes=32' would change what 'memory.bandwidth=64' before it says: give memory.bandwidth "
     "last, or leave one of them out"),
    ([3], "a setting must be a text, not 3"),
)  # fmt: skip
def test_settings_of_which_nothing_is_left(settings: Sequence[Any], message: str) -> None:
    for refuse in (check_settings, lambda each: step.sweep(doubled(), {"lanes.map_0": [1]}, jobs=1, settings=each)):
        assert raised(InputError, refuse, settings) == message


def test_settings_that_go_together() -> None:
    check_settings(["memory=hbm2", "memory.beat_bytes=32", "memory.bandwidth=64", "memory.latency=9", "stages=2"])
    assert in_effect(["memory.channels=2", "stages=2", "lanes.a=3"], ["memory=hbm2", "fabric.stages=1"]) == (
        "lanes.a=3",
    )


@cases(
    ({"fabric.stages": [1, 2]}, ["stages=4"], f"'stages=4' and 'fabric.stages' {SAME}"),
    ({"memory.channels": [1, 2], "memory": ["hbm2"]}, [],
     "'memory' would replace 'memory.channels', which stands before it: give memory first"),
)  # fmt: skip
def test_what_is_swept_over_and_set(over: Any, settings: list[str], message: str) -> None:
    for search in (step.sweep, step.tune):
        assert raised(InputError, search, doubled(), over, jobs=1, settings=settings) == message


def test_what_is_swept_over_and_an_argument() -> None:
    twice = "rows has values in {} and in {}: leave one of them out"
    for search in (step.sweep, step.tune):
        error = raised(InputError, search, swiglu.program, {"rows": [2]}, jobs=1, arguments={"rows": 4})
        assert error == twice.format("over", "arguments")
    for given, what in (({"over": {"rows": [2]}}, "over"), ({"arguments": {"rows": 2}}, "arguments")):
        assert raised(
            InputError,
            step.tune,
            swiglu.program,
            **{"over": {"columns": [16]}, **given},
            jobs=1,
            cases=[{"rows": 4}],
            within=None,
        ) == twice.format(what, "a case")


def test_settings_of_a_mapping_do_not_change_what_it_is_given() -> None:
    with pytest.raises(
        InputError, match=r"'memory\.channels=2' would change what 'memory.bandwidth=64' before it says"
    ):
        step_torch.map("none.pt2", luts=1e6, bytes_per_cycle=64, settings=["memory.channels=2"])
