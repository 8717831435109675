"""Mixtures of experts: static tiles, one of dynamic size, experts by turns; in many sizes and routings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from grids import samples
from raising import raised
from running_models import assert_runs

from sim_approx import backend as approx
from step.errors import InputError
from step.programs.metrics import metrics
from step.programs.program import Program
from step.running.interpreter import bind
from step_models import measured_routing, moe, sampled_routing

SMALL: dict[str, Any] = {"hidden": 32, "inner": 32}
ROUTINGS = {
    "skewed": sampled_routing(12, 8, 2, skew=1),
    "one token": np.array([[7, 0]]),
    "two experts only": np.array([[3, 4]] * 5),
    "one expert a token": np.array([[0], [1], [0]]),
    "three experts a token": np.array([[0, 3, 5], [7, 6, 5]]),
    "all experts": np.array([[0, 1, 2, 3, 4, 5, 6, 7]] * 3),
}


@samples(tiling=[{}, {"depth": 16}, {"regions": 4}, {"regions": 2, "depth": 16}], routing=ROUTINGS)
def test_routings(routing: str, tiling: dict[str, int]) -> None:
    assert_runs(moe.program(ROUTINGS[routing], experts=8, **SMALL, **tiling))


@pytest.mark.parametrize("sizes", [{"rows": 1}, {"rows": 16, "hidden": 16}, {"hidden": 48, "columns": 8}], ids=str)
def test_sizes(sizes: dict[str, int]) -> None:
    for regions in (None, 3):
        assert_runs(moe.program(sampled_routing(8, 6, 3), experts=6, regions=regions, **{**SMALL, **sizes}))


@samples(depth=[None, 16], routing=ROUTINGS)
def test_dynamic_tiles(routing: str, depth: int | None) -> None:
    program = moe.program(ROUTINGS[routing], experts=8, rows=None, depth=depth, **SMALL)
    result = assert_runs(program)
    assert approx.run(program.graph, program.inputs, program.fabric).cycles == result.cycles


@samples(regions=[2, 8], routing=ROUTINGS)
def test_dynamic_tiles_by_turns(routing: str, regions: int) -> None:
    """As much work and traffic as where every expert has matmuls of its own."""
    apart, shared = (
        moe.program(ROUTINGS[routing], experts=8, rows=None, regions=each, **SMALL) for each in (None, regions)
    )
    result = assert_runs(shared)
    timed = approx.run(shared.graph, shared.inputs, shared.fabric)
    assert (timed.engine, timed.cycles) == ("compiled", result.cycles)
    found, wanted = (metrics(each.graph).bind(bind(each.graph, each.inputs)) for each in (shared, apart))
    assert (found.flops, found.off_chip_bytes) == (wanted.flops, wanted.off_chip_bytes)


def test_fewer_reads_of_weights_take_less_time() -> None:
    cycles = {}
    for rows in (1, 4, None):
        program = moe.program(measured_routing("mixtral_b64", 8), experts=8, rows=rows, hidden=32, inner=32)
        cycles[rows] = approx.run(program.graph, program.inputs, program.fabric).cycles
    assert cycles[None] < cycles[4] and 2 * cycles[4] < cycles[1]


def traffic(program: Program, routing: np.ndarray) -> int:
    return int(metrics(program.graph, program.fabric).bind(moe.symbols(routing, 8)).off_chip_bytes)


@pytest.mark.parametrize("routing", ROUTINGS)
def test_symbols(routing: str) -> None:
    program = moe.program(ROUTINGS[routing], experts=8, hidden=16, inner=16)
    measured, known = bind(program.graph, program.inputs), moe.symbols(ROUTINGS[routing], 8)
    assert known == {name: measured[name] for name in known}


@pytest.mark.parametrize("rows", [2, None])
def test_symbols_of_experts_that_take_turns(rows: int | None) -> None:
    routing = ROUTINGS["skewed"]
    program = moe.program(routing, experts=8, rows=rows, regions=2, hidden=16, inner=16)
    measured, known = bind(program.graph, program.inputs), moe.symbols(routing, 8, rows=rows, regions=2)
    assert known == {name: measured[name] for name in known} and "region1_turns_D0" in known


DEALT = [(experts, each) for experts in (1, 2, 4) for each in (None, 1, 2, 4) if (each or 1) <= experts]


@samples(rows=[None, 1, 3], dealt=DEALT)
def test_symbols_are_enough_for_metrics(dealt: tuple[int, int | None], rows: int | None) -> None:
    """Whatever number of experts is in a region, one too."""
    experts, regions = dealt
    routing = np.arange(7)[:, None] % experts
    program = moe.program(routing, experts=experts, rows=rows, regions=regions, hidden=8, inner=8, columns=8)
    known = moe.symbols(routing, experts, rows=rows, regions=regions)
    measured = bind(program.graph, program.inputs)
    assert known == {name: measured[name] for name in known}
    assert metrics(program).bind(known).items() == metrics(program).bind(measured).items()


@cases(
    ({"routing": [[0, 9]]}, "routing: expert ids must be 0 to 3, but go from 0 to 9"),
    ({"routing": 3}, "routing must be integers [tokens, k], not int64 []"),
    ({"experts": "4"}, "symbols needs experts to be an integer, not '4'"),
    ({"experts": 10**30}, f"routing: there must be 1 to 1,048,576 experts, not {10**30:,}"),
    ({"regions": 3}, "4 experts can not be dealt evenly to 3 regions; possible are 1, 2, 4"),
    ({"regions": 0}, "4 experts can not be dealt evenly to 0 regions; possible are 1, 2, 4"),
    ({"rows": -1}, "a tile must have at least one row, not -1"),
    ({"rows": 2.5}, "symbols needs rows to be an integer or None, not 2.5"),
    ({"row": 2}, "symbols has no parameter 'row'; did you mean 'rows'? it has routing, experts, prefix, rows, regions"),
)  # fmt: skip
def test_symbols_of_what_no_mixture_has(change: dict[str, Any], message: str) -> None:
    assert raised(InputError, lambda: moe.symbols(**{"routing": [[0, 1]], "experts": 4, **change})) == message


@cases((4, [4, 3, 5, 4, 5, 3, 6, 6]), (16, [1, 1, 2, 1, 2, 1, 2, 2]), (None, [1] * 8))
def test_traffic_on_the_trace(rows: int | None, reads: list[int]) -> None:
    """Weights are read once per tile: counts are 13, 10, 17, 14, 17, 10, 24 and 23."""
    routing = measured_routing("mixtral_b64", 8)
    program = moe.program(routing, experts=8, rows=rows, values=False, **SMALL)
    assert traffic(program, routing) == sum(reads) * 3 * 32 * 32 * 2 + 64 * 32 * 2 + 64 * 2 * 2 + 64 * 32 * 4


def test_full_size_takes_no_memory_without_values() -> None:
    """Mixtral with tiles of 32 rows: what the published evaluation states, and 4 bytes of each output.

    Its 2,820,145,408 bytes are 8 experts' weights once, x and the scores in BF16, and the output in FP32.
    """
    routing = measured_routing("mixtral_b64", 8)
    program = moe.program(routing, experts=8, hidden=4096, inner=14336, rows=32, columns=64, values=False)
    assert traffic(program, routing) == 2_820_145_408
    assert sum(array.base.nbytes for name, array in program.inputs.items() if "expert" in name) < 100


@cases(
    ({"routing": np.zeros((0, 2), int)}, "routing must have at least one token, not [0, 2]"),
    ({"routing": np.array([[0, 8]])}, "routing: expert ids must be 0 to 7, but go from 0 to 8"),
    ({"routing": np.array([0, 1])}, "routing must be integers [tokens, k], not int64 [2]"),
    ({"rows": 0}, "a tile must have at least one row, not 0"),
    ({"regions": 3}, "8 experts can not be dealt evenly to 3 regions; possible are 1, 2, 4, 8"),
    ({"regions": 16}, "8 experts can not be dealt evenly to 16 regions; possible are 1, 2, 4, 8"),
    ({"regions": 0}, "8 experts can not be dealt evenly to 0 regions; possible are 1, 2, 4, 8"),
    ({"regions": 2, "rows": None, "depth": 16},
     "experts that take turns on tiles of dynamic size need weight tiles with all of hidden: "
     "depth must be 32, not 16"),
    ({"regions": 4.0}, "program needs regions to be an integer or None, not 4.0"),
    ({"experts": 0}, "routing: there must be 1 to 1,048,576 experts, not 0"),
    ({"routing": np.array([range(9)])}, "routing must have 1 to 8 experts a token, not 9"),
    ({"hidden": 0, "depth": 16}, "hidden must be at least 1, not 0"),
    ({"inner": -32}, "inner must be at least 1, not -32"),
    ({"columns": 16.0}, "program needs columns to be an integer, not 16.0"),
    ({"columns": 20}, "columns, the extent of a weight tile along inner, must divide inner = 32, but 20 does not"),
    ({"depth": 20}, "depth, the extent of a weight tile along hidden, must divide hidden = 32, but 20 does not"),
)  # fmt: skip
def test_what_does_not_fit(changes: dict[str, Any], message: str) -> None:
    arguments = {"routing": np.array([[0, 1]]), "experts": 8, **SMALL, **changes}
    assert raised(InputError, lambda: moe.program(**arguments)) == message
