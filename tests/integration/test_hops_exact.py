"""RTL, fast model and interpreter agree with random hops on all channels."""

from __future__ import annotations

from pathlib import Path

import pytest
from far import far
from farm import farm
from random_programs.together import check_rtl
from scenarios import SCENARIOS
from test_exact import check

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


@pytest.mark.slow
@pytest.mark.parametrize("block", range(6))
def test_random_programs(block: int) -> None:
    seeds = range(60_000 + block * 22, 60_022 + block * 22)
    agreement = check_rtl([each for each in seeds if each not in REFUSED], hops=block)
    assert len(agreement.seeds) >= 17
