"""Decode attention in RTL: exact for other lengths on the same hardware, and a fault for one beyond the cache."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases
from test_exact import check

from cosim import backend as rtl
from step.programs.program import Program, load_program
from step.running.contracts import StreamFault
from step_models.kv_lengths import measured_kv_lengths

sys.path.append(str(Path(__file__).parents[2] / "examples"))

import attention as example

pytestmark = pytest.mark.large

SMALL: dict[str, Any] = {"dynamic": True, "regions": 2, "heads": 1, "group": 2, "size": 4, "rows": 2}


@pytest.mark.slow
@pytest.mark.parametrize("arrangement", ["parallel", "interleaved", "whole"])
def test_the_example_is_exact(arrangement: str) -> None:
    check(load_program(f"{example.__file__}:{arrangement}"))


LENGTHS = measured_kv_lengths(example.TRACE) // example.SCALE
"""By them the cache is as long in all programs: one build serves them."""


def attention(lengths: Any, **how: Any) -> Program:
    """Fewer and smaller regions than the example has."""
    program = example.build(LENGTHS, **SMALL | how)
    return replace(program, inputs={**program.inputs, "length": lengths}, expected={})


def test_attention_is_exact() -> None:
    check(example.build(LENGTHS, **SMALL))


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [LENGTHS, np.zeros(16, int)], ids=["trace", "none"])
def test_attention_on_one_tile_of_all_rows_is_exact(lengths: np.ndarray) -> None:
    check(attention(lengths, rows=None, regions=1))


@pytest.mark.parametrize(
    "lengths", [[0] * 16, [33] + [0] * 15, [0] * 15 + [33], [3, 4, 5, 0] * 4], ids=["none", "first", "last", "short"]
)
def test_attention_is_exact_for_other_lengths(lengths: list[int]) -> None:
    check(attention(lengths))


@cases((34, {}), pytest.param(33, {"rows": None, "regions": 1}, marks=pytest.mark.slow), ids=["tiles", "one tile"])
def test_a_length_beyond_the_cache(room: int, how: dict[str, Any]) -> None:
    program = attention([1, 2, room] + [0] * 13, **how)
    with pytest.raises(StreamFault) as error:
        rtl.run(program.graph, program.inputs, program.fabric, optimize=False)  # as `check` has built it
    assert str(error.value) == (
        f"map 'end' ({program.graph.nodes['end'].location}): "
        f"a request has to be one of 0 to 15, and to have less than {room} rows of the cache\n"
        "  token 2 of sequence is 2\n"
        f"  token 2 of lengths_broadcast.0 is {room}"
    )
