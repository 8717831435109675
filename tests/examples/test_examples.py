"""The examples: they build, mean what float64 says, and cost what their loops say."""

from __future__ import annotations

from typing import Any

import moe_mixtral
import moe_multiplexed
import moe_simple
import numpy as np
import pytest
import recirculate
import swiglu

from sim_approx import backend as approx
from step.language.validate import check
from step.programs.metrics import metrics
from step.programs.program import Program
from step.running.interpreter import bind, interpret
from step_models.routing import measured_routing

EXPERTS = moe_mixtral.EXPERTS


def assert_close(program: Program) -> None:
    """Every expected output is within the tolerance that the program states itself."""
    outputs = interpret(program.graph, program.inputs).outputs
    assert program.expected and set(program.expected) <= set(outputs)
    assert 0 < program.tolerance < 0.1
    for name, expected in program.expected.items():
        values = [token.value.astype(np.float64) for token in outputs[name] if token.has_value]
        found = np.concatenate(values) if values else np.zeros((0, expected.shape[1]))
        assert found.shape == expected.shape
        error = np.abs(found - expected).max(initial=0)
        assert error <= program.tolerance * np.abs(expected).max(initial=0)


def numbers(program: Program, accounting: Any = "paper") -> dict[str, int]:
    bound = metrics(program.graph, program.fabric, accounting).bind(bind(program))
    return {name: int(value) for name, value in bound.items().items()}


def assert_clean(program: Program) -> None:
    assert check(program.graph) == []


def assert_runs(program: Program) -> dict[str, list[np.ndarray]]:
    """No warning, close to float64, and the bits of the interpreter on the fast model; gives the tiles of outputs."""
    assert_clean(program)
    assert_close(program)
    result = approx.run(program.graph, program.inputs, program.fabric, values="all")
    found, wanted = (
        {name: [token.value for token in tokens if token.has_value] for name, tokens in (outputs or {}).items()}
        for outputs in (result.outputs, interpret(program.graph, program.inputs).outputs)
    )
    assert found.keys() == wanted.keys()
    for name, tiles in wanted.items():
        assert [each.tobytes() for each in found[name]] == [each.tobytes() for each in tiles]
    return wanted


# -- simplified mixture of experts ----------------------------------------------------------------------------------


def test_simple_moe() -> None:
    program = moe_simple.program()
    assert_clean(program)
    assert_close(program)


def test_simple_moe_finds_a_wrong_result() -> None:
    """The comparison above can fail."""
    program = moe_simple.program()
    program.expected["output"] = program.expected["output"] * 1.01
    with pytest.raises(AssertionError):
        assert_close(program)


@pytest.mark.parametrize("expert", [0, 1])
def test_simple_moe_when_one_expert_gets_all_rows(expert: int) -> None:
    program = moe_simple.program()
    data, weight = (program.inputs[name].astype(np.float64) for name in ("x", f"weight{expert}"))
    program.inputs["routing"] = np.full(moe_simple.TOKENS, expert)
    program.expected["output"] = data @ weight
    assert_close(program)
    # ten rows are three tiles of four, each of which reads the weight of 16 * 64 * 2 bytes once
    assert numbers(program)["off_chip_bytes"] == 10 * 16 * 2 + 3 * 2048 + 10 * 64 * 2


# -- a weight in a loop ---------------------------------------------------------------------------------------------


def test_a_weight_is_read_once() -> None:
    program = recirculate.program()
    assert_clean(program)
    assert_close(program)
    x, weight, output = ((24, 64), 2), ((64, 16), 2), ((24, 16), 4)
    assert numbers(program)["off_chip_bytes"] == sum(rows * cols * size for (rows, cols), size in (x, weight, output))


# -- swiglu ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("columns", [8, 16])
def test_swiglu_sweep(rows: int, columns: int) -> None:
    program = swiglu.program(rows=rows, columns=columns)
    assert_clean(program)
    assert_close(program)
    found = numbers(program)
    # weights once per row tile
    assert found["off_chip_bytes"] == 16 * 64 * 2 + 16 // rows * 3 * 64 * 64 * 2 + 16 * 64 * 4
    # three products, silu and the gate per hidden scalar, and a sum over the blocks of F
    assert found["flops"] == 16 * (3 * 2 * 64 * 64 + 9 * 64 + 64 // columns * 64)


def test_the_sweep_is_six_programs() -> None:
    names = [program.name for program in swiglu.sweep()]
    assert len(set(names)) == len(names) == 6


# -- mixture of experts on the trace --------------------------------------------------------------------------------

COUNTS = [13, 10, 17, 14, 17, 10, 24, 23]
"""Tokens per expert in the trace."""


@pytest.mark.parametrize("dynamic", [False, True])
def test_mixtral_on_the_trace(dynamic: bool) -> None:
    program = moe_mixtral.dynamic() if dynamic else moe_mixtral.program()
    assert_clean(program)
    assert_close(program)
    symbols = bind(program.graph, program.inputs)
    assert [symbols[f"route_D{expert}"] for expert in range(EXPERTS)] == COUNTS
    reads = EXPERTS if dynamic else sum(-(-count // 4) for count in COUNTS)
    found = numbers(program)
    assert found["off_chip_bytes"] == reads * 24576 + 64 * 64 * 2 + 64 * 2 * 2 + 64 * 64 * 4
    rows = sum(COUNTS) if dynamic else 4 * reads
    # per row of an expert: three products, silu and gate, sums over four blocks; then weights and sums per row
    assert found["flops"] == rows * (3 * 2 * 64 * 64 + 9 * 64 + 4 * 64) + 2 * sum(COUNTS) * 64


def test_a_dynamic_tile_needs_less_traffic_and_the_artifact_counts_less_memory() -> None:
    static, dynamic = moe_mixtral.program(), moe_mixtral.dynamic()
    assert numbers(dynamic)["off_chip_bytes"] < numbers(static)["off_chip_bytes"]
    assert numbers(static, "artifact")["on_chip_bytes"] < numbers(static)["on_chip_bytes"]


def test_an_expert_without_tokens_reads_no_weights() -> None:
    trace, sizes = np.array([[3, 4]] * 4), {"hidden": 16, "inner": 16}
    apart = [moe_mixtral.build(trace, dynamic=dynamic, **sizes) for dynamic in (False, True)]
    for program in (*apart, moe_multiplexed.build(trace, 2, **sizes)):
        assert numbers(program)["off_chip_bytes"] == 2 * 3 * 16 * 16 * 2 + 4 * 16 * 2 + 4 * 2 * 2 + 4 * 16 * 4


# -- experts by turns -----------------------------------------------------------------------------------------------

SHARED = [1, 2, 4, 8]
"""Numbers of regions; the last one has a region for each expert."""


def rows_of(program: Program) -> list[bytes]:
    """The rows of the output, bit for bit."""
    outputs = interpret(program.graph, program.inputs).outputs
    return [token.value.tobytes() for token in outputs["output"] if token.has_value]


@pytest.mark.parametrize("regions", [*(pytest.param(each, marks=pytest.mark.slow) for each in SHARED[:-1]), SHARED[-1]])
def test_experts_by_turns_on_the_trace(regions: int) -> None:
    program = moe_multiplexed.build(measured_routing(moe_mixtral.TRACE, EXPERTS), regions)
    alone = moe_mixtral.program()
    assert_clean(program)
    assert_close(program)
    assert rows_of(program) == rows_of(alone)
    found, wanted = numbers(program), numbers(alone)
    # no more traffic and operations than where every expert has a region, and memory for each region
    assert found["off_chip_bytes"] == wanted["off_chip_bytes"]
    assert found["flops"] == wanted["flops"]
    assert found["on_chip_bytes"] == 5124 + regions * 9345


@pytest.mark.parametrize("regions", SHARED)
def test_experts_by_turns_give_the_same_bits(regions: int) -> None:
    trace = np.array([[0, 3, 5], [7, 6, 5]])
    program = moe_multiplexed.build(trace, regions, hidden=16, inner=16)
    assert rows_of(program) == rows_of(moe_mixtral.build(trace, hidden=16, inner=16))


def test_programs_of_experts_by_turns() -> None:
    names = [each().name for each in (moe_multiplexed.program, moe_multiplexed.regions4, moe_multiplexed.regions2)]
    assert names == ["moe_multiplexed_regions4", "moe_multiplexed_regions4", "moe_multiplexed_regions2"]
