"""The compiled engine equals the Python engine, whatever a run comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from random_graphs import Program, built
from same import both
from scenarios import FABRIC, SCENARIOS, Scenario
from test_deadlock import fork_join

from step.functions.cast import Cast
from step.language.dtypes import BF16
from step.language.function import Function
from step.language.graph import Graph, Node
from step.language.tokens import DONE, UNKNOWN, Token
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.lowering.plans.plan import Timing
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.running.result import Status

LONGEST = 5000


@pytest.mark.parametrize("share", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("values", ["control", "all"])
def test_scenarios(values: str, share: int) -> None:
    for scenario in SCENARIOS[::share]:
        run_scenario(scenario, values)


def run_scenario(scenario: Scenario, values: str) -> None:
    assert both(*scenario.lowered(), values=values) == Status.FINISHED  # type: ignore[arg-type]


def test_a_read_that_nobody_waits_for(graph: Graph) -> None:
    """It goes on behind the end, which it does not move."""
    n = [graph.symbol("N")]
    table = graph.tensor("t", (4, 64), BF16)
    graph.load(table, tile=(4, 4), reference=graph.source("x", Tile(BF16), n)).map(Cast(BF16))
    graph.source("z", Tile(BF16), n).sink("y")
    netlist = lower(graph, FABRIC)
    assert both(netlist, BoundInputs({}, {name: [*[Token(UNKNOWN)] * 3, DONE] for name in "xz"})) == Status.FINISHED


def test_cut_off_in_every_cycle() -> None:
    """A program that can not go on, in which a write becomes visible last."""
    graph = fork_join()
    graph.source("t", Tile(BF16), [graph.symbol("T")]).store("s")
    netlist = lower(graph, FabricConfig())
    data = bind_inputs(netlist.graph, {"x": [[1, 2, 3, 4, 5], [1, 2]], "t": [1, 2]})
    found = [both(netlist, data, max_cycles=cycles) for cycles in range(1, 60)]
    assert found == sorted(found, key=[Status.RUNAWAY, Status.DEADLOCK].index)
    assert set(found) == {Status.RUNAWAY, Status.DEADLOCK}


def random_program(seed: int, steps: int, build: Callable[[Program, int], None] = Program.build) -> Status | None:
    """A random program on both engines, also cut off somewhere; None: it can not be built."""
    program = built(seed, steps, build)
    if program is None:
        return None
    netlist, data = lower(program.graph, program.fabric), program.bound()
    status = both(netlist, data, timing_of=program.timing_of, max_cycles=LONGEST)
    both(netlist, data, timing_of=program.timing_of, max_cycles=Random(seed).randint(1, 120))
    return status


def slow(node: Node, function: Function, reduce: bool) -> Timing:
    """So slow that the wheel has to turn around, or just not."""
    choose = Random(node.name)
    return Timing(choose.choice([1, 1022, 1023, 1024, 3000]), choose.choice([0, 1, 1022, 1023, 1024, 1025, 5000]))


@pytest.mark.parametrize("block", [0, 1, *(pytest.param(each, marks=pytest.mark.slow) for each in (2, 3))])
def test_random_programs(block: int) -> None:
    endings = Counter(random_program(seed, 3 + seed % 14) for seed in range(50_000 + block * 30, 50_030 + block * 30))
    assert endings[Status.FINISHED] > 10 and endings[Status.DEADLOCK] + endings[Status.FAULT] > 2, endings


@pytest.mark.slow
@pytest.mark.parametrize("block", range(36))
def test_many_random_programs(block: int) -> None:
    endings = Counter(random_program(seed, 3 + seed % 18) for seed in range(60_000 + block * 100, 60_100 + block * 100))
    assert endings[Status.FINISHED] > 30 and endings[Status.DEADLOCK] > 5 and endings[Status.FAULT] > 0, endings


def test_what_takes_turns() -> None:
    for seed in range(80_000, 80_010):
        random_program(seed, 10, Program.contend)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(6))
def test_much_that_takes_turns(block: int) -> None:
    endings = Counter(
        random_program(seed, 6 + seed % 12, Program.contend)
        for seed in range(81_000 + block * 100, 81_100 + block * 100)
    )
    assert endings[Status.FINISHED] > 30, endings


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_long_waits(count: int) -> None:
    """Functions and a memory that take longer than a turn of the wheel; who came first is known for as long."""
    for seed in range(90_000, 90_000 + count):
        program = built(seed, 12)
        if program is None:
            continue
        memory = replace(program.fabric.memory, latency=Random(seed).choice([1000, 1022, 1023, 1024, 4000]))
        netlist = lower(program.graph, replace(program.fabric, memory=memory))
        both(netlist, program.bound(), timing_of=slow, max_cycles=200_000)
        both(netlist, program.bound(), timing_of=slow, max_cycles=Random(seed).randint(1000, 6000))
