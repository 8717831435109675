"""RTL, fast model and interpreter agree with random hops on all channels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from dynamic import Rows
from far import far
from farm import farm
from random_programs.together import check_rtl
from scenarios import SCENARIOS
from test_exact import check

from step.functions import Reciprocal
from step.language.dtypes import BF16, FP32
from step.programs.program import load_program

pytestmark = pytest.mark.large

REFUSED = {60_053, 60_130}
"""Programs without hardware, near or far: a Partition of dynamic tiles with an output that nobody reads."""

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("first", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in range(1, 48))])
def test_scenarios(first: int) -> None:
    check(far(farm("far", SCENARIOS[first::48]), first))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["softmax.py", "recirculate.py", "attention.py:small"])
def test_examples(name: str, seed: int) -> None:
    check(far(load_program(f"{EXAMPLES}/{name}"), seed))


def test_buffers_in_lut_ram_have_their_addresses_in_registers() -> None:
    program = load_program(f"{EXAMPLES}/softmax.py")
    check(far(replace(program, fabric=replace(program.fabric, block_ram_words=2048, scratchpad_bytes=8192)), 1))


def test_as_many_tokens_wait_for_their_times_as_a_channel_with_hops_has_slots() -> None:
    rows = Rows(3, FP32)
    rows.given().map(Reciprocal(out=BF16)).sink("y")
    rows.inputs["x"] = [each[:1] for each in rows.inputs["x"]]  # small tiles follow each other at once
    rows.checked(link_bytes=8, stages=4, dynamic_rows=16, hop=24)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(6))
def test_random_programs(block: int) -> None:
    seeds = range(60_000 + block * 22, 60_022 + block * 22)
    agreement = check_rtl([each for each in seeds if each not in REFUSED], hops=block)
    assert len(agreement.seeds) >= 17
