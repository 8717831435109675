"""RTL, fast model and interpreter agree: on every operator, and on the examples."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from everywhere import spent
from farm import farm
from scenarios import SCENARIOS, dealt

import step
from cosim import backend as rtl
from cosim.comparing.compare import compare
from sim_approx import backend as approx
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.programs.program import Program, load_program
from step_check.fuzz.farm import side_by_side
from step_check.fuzz.units import units

sys.path.append(str(Path(__file__).parents[2] / "examples"))

import moe_multiplexed
import softmax

pytestmark = pytest.mark.large

EXAMPLES = Path(__file__).parents[2] / "examples"

RATES = FabricConfig(
    matmul_lanes=8,
    vector_lanes=8,
    link_bytes=16,
    outstanding=32,
    scratchpad_ports=1,
    memory=MemoryConfig(beat_bytes=16, channels=256),  # so many that no two units want one in the same cycle
)


def check(program: Program, *, optimize: bool = False) -> None:
    """Every token on time, outputs equal bit for bit, and the same counters; the runs are short, the builds are not."""
    found = compare(program, optimize=optimize)
    assert found.first_mismatch is None
    assert found.mismatches == 0
    assert found.first_difference is None
    assert found.exact_cycles == found.approximate_cycles
    assert found.passed
    for each in found.operators:
        # Firings are counted by the fast model only.
        assert spent(each.exact) == spent(each.approximate), each.name


HANDS = dealt(48)
"""Of each operator a share of the scenarios, or one; `tests/test_contract.py` plays others of each in RTL."""


@cases(
    ([0], "hbm2"),
    pytest.param(range(1, 24), "ddr4", marks=pytest.mark.slow),
    pytest.param(range(24, 48), "hbm2", marks=pytest.mark.slow),
)
def test_every_scenario_is_exact(hands: Sequence[int], memory: str) -> None:
    """With the plain memory and, in the same build, with banks and rows."""
    program = farm(f"hands{hands[0]}", [each for hand in hands for each in HANDS[hand]])
    check(program)
    dram = MemoryConfig.preset(memory, beat_bytes=program.fabric.memory.beat_bytes)
    check(replace(program, fabric=replace(program.fabric, memory=dram)))


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("stages", [1, 4])
@pytest.mark.parametrize("link_bytes", [4, 8, 64, 4096])
def test_every_scenario_is_exact_on_all_fabrics(link_bytes: int, stages: int, half: int) -> None:
    program = farm(f"farm{half}", SCENARIOS[half::2])
    check(replace(program, fabric=replace(program.fabric, link_bytes=link_bytes, stages=stages)))


@pytest.mark.parametrize("one_of", [40, pytest.param(1, marks=pytest.mark.slow)])
def test_functions_are_exact_without_stages_on_narrow_links(one_of: int) -> None:
    """The other scenarios have the arithmetic of the default; half of their channels are deep here."""
    program = farm("uncut", [each for each in SCENARIOS if each.operator in ("map", "accum", "flat_map")][::one_of])
    check(replace(program, fabric=replace(program.fabric, stages=1, link_bytes=4, block_ram_words=4)))


def test_channel_counters_are_equal() -> None:
    program = load_program(str(EXAMPLES / "moe_simple.py"))
    exact = rtl.run(program.graph, program.inputs, program.fabric)
    approximate = approx.run(program.graph, program.inputs, program.fabric)
    assert exact.channels == approximate.channels


@pytest.mark.parametrize("arithmetic", ["rtl", "model"])
def test_the_simplified_mixture_of_experts_is_exact(arithmetic: str) -> None:
    program = load_program(str(EXAMPLES / "moe_simple.py"))
    program.fabric = type(program.fabric)(arithmetic=arithmetic)
    check(program, optimize=arithmetic == "rtl")  # as users have it, and other tests here


def test_a_comparison_in_python_shows_itself() -> None:
    found = step.compare(EXAMPLES / "moe_simple.py")
    assert found.passed and (found.mismatches, found.first_mismatch, found.first_difference) == (0, None, None)
    run = step.run(EXAMPLES / "moe_simple.py")
    assert run.cycles == found.exact_cycles == found.approximate_cycles
    assert run.check().relative == found.deviation and run.outputs["output"].numpy().shape == (10, 1, 64)
    assert repr(found) == f"<comparison of moe_simple: {run.cycles:,} cycles, {found.tokens:,} tokens, equal>"
    assert f'<td style="text-align:right">{run.cycles:,}</td>' in found._repr_html_()  # type: ignore[attr-defined]


def test_a_program_of_the_readme_runs() -> None:
    """The two first commands a newcomer types, on the smaller example."""
    command = [sys.executable, "-m", "step", "compare", str(EXAMPLES / "moe_simple.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "moe_simple" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("tiles", ["", ":dynamic"])
def test_the_mixtral_mixture_of_experts_is_exact(tiles: str) -> None:
    check(load_program(f"{EXAMPLES / 'moe_mixtral.py'}{tiles}"), optimize=True)


def test_a_weight_in_a_loop_is_exact() -> None:
    check(load_program(str(EXAMPLES / "recirculate.py")))


@pytest.mark.slow
def test_experts_by_turns_are_exact() -> None:
    """Chunks of several lengths, in every order, and experts and regions without rows; one build for all of them."""
    for trace in (
        [[0, 1]] * 6,
        [[3, 2], [1, 0], [2, 1], [7, 0], [2, 5], [0, 6]],
        [[7, 4], [7, 6], [4, 7], [4, 7], [5, 4], [7, 5]],
    ):
        program = moe_multiplexed.build(np.array(trace), 2, hidden=16, inner=8, tile_rows=2, step=8)
        check(replace(program, fabric=replace(program.fabric, link_bytes=8, matmul_lanes=4)))


@pytest.mark.slow
@pytest.mark.parametrize("regions", ["regions4", "regions2"])
def test_the_mixtral_experts_by_turns_are_exact(regions: str) -> None:
    check(load_program(str(EXAMPLES / f"moe_multiplexed.py:{regions}")))


@pytest.mark.slow
@pytest.mark.parametrize("running", [False, True])
def test_softmax_is_exact(running: bool) -> None:
    """One build for rows of all lengths."""
    for lengths in (softmax.LENGTHS, [0] * 8, [64] * 8, [0, 0, 15, 17, 31, 48, 2, 0]):
        check(softmax.build(lengths, running))


@pytest.mark.slow
def test_norm_and_projections_are_exact() -> None:
    check(load_program(str(EXAMPLES / "norm_qkv.py")))


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 4])
def test_the_rates_of_all_units_are_exact(rows: int) -> None:
    graph, inputs = side_by_side("units", [partial(each.build, values=200) for each in units(rows)])
    check(Program(graph, inputs, RATES))


@pytest.mark.slow
@pytest.mark.parametrize("index", range(6))
def test_the_swiglu_sweep_is_exact(index: int) -> None:
    from step.programs.program import load_programs

    check(load_programs(str(EXAMPLES / "swiglu.py:sweep"))[index])
