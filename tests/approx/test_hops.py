"""Hops of channels: registers on the way, the same on both engines, with jumps and without."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from cases import cases
from far import hopped
from random_graphs import Program, built
from regular import random_phases
from same import both, compare
from scenarios import SCENARIOS
from test_deadlock import fork_join

import step
from sim_approx.backend import simulate
from sim_approx.explain.explanation import explain
from step.errors import FabricError, ProgramError, StepError
from step.functions.cast import Cast
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig, with_settings
from step.lowering.netlist import lower
from step.programs.data.inputs import bind_inputs
from step.programs.files.fitted import FittedFile
from step.programs.files.serialize import graph_from_json, graph_to_json
from step.running.result import Status

LONGEST = 5000

FLOAT: Any = {"x": 1.5}
NUMBER: Any = 3
"""No hops by name."""


def chain(graph: Graph, hops: int | None = None) -> step.Program:
    """A source and a sink, with a cast between them."""
    x = graph.source("x", Tile(BF16), [graph.symbol("N")])
    (x if hops is None else x.distant(hops)).map(Cast(BF16), name="cast").sink("y")
    return step.Program(graph, {"x": list(range(40))})


def test_a_hop_is_a_cycle_and_takes_no_throughput(graph: Graph) -> None:
    program = chain(graph)
    near = step.run(program, "approx").cycles
    for hops in (1, 3, 20):
        for fabric in (FabricConfig(hop=hops), FabricConfig(hops={"x": hops, "cast": hops})):
            assert step.run(program, "approx", fabric=fabric).cycles == near + 2 * hops


def test_a_channel_has_slots_for_both_ways(graph: Graph) -> None:
    """Tokens on their way, and freed slots on theirs; a value of two words needs half of them."""
    x = graph.source("x", Tile(BF16, 1, 8), [3])
    x.map(Cast(BF16), name="cast").sink("y")
    netlist = lower(graph, FabricConfig(link_bytes=8, hop=5))
    assert [netlist.slots(each) for each in netlist.channels] == [2 + 5, 2 + 5]
    assert [netlist.lag(each) for each in netlist.channels] == [5, 5]


def test_hops_are_said_in_program_fabric_and_file(graph: Graph) -> None:
    """What is said by name is over what the program says, and that over the default."""
    program = chain(graph, hops=2)
    kept = graph_from_json(graph_to_json(program.graph))
    for fabric, hops in (
        (FabricConfig(), [2, 0]),
        (FabricConfig(hop=1), [2, 1]),
        (with_settings(FabricConfig(), ["hop=1", "hops.x=4"]), [4, 1]),
    ):
        assert [each.hops for each in lower(kept, fabric).channels] == hops
        assert FabricConfig.from_json(fabric.to_json()) == fabric
    program.fabric = FabricConfig(hop=1, hops={"x": 4})
    file = FittedFile.of(replace(program, fabric=FabricConfig()), program.fabric, {}, 0, {})
    assert file.settings == {"fabric.hop": 1, "hops.x": 4}
    assert file.applied(replace(program, fabric=FabricConfig())).fabric == program.fabric
    assert "hop" not in FabricConfig().to_json()


@cases(
    (lambda: FabricConfig(hop=-1), FabricError, "hop must be an integer >= 0, not -1"),
    (lambda: FabricConfig(hops=FLOAT), FabricError, "hops.x must be an integer >= 0, not 1.5"),
    (
        lambda: FabricConfig(hops=NUMBER),
        FabricError,
        "hops must be an object of numbers by the names of channels, not 3",
    ),
    (
        lambda: lower(chain(Graph("g")).graph, FabricConfig(hops={"cost": 3})),
        FabricError,
        "there is no channel 'cost'; did you mean 'cast'? there are cast, x",
    ),
    (lambda: chain(Graph("g"), hops=-2), ProgramError, "a channel's hops must be an integer >= 0, not -2"),
)
def test_bad_hops(make: object, kind: type[StepError], text: str) -> None:
    with pytest.raises(kind) as error:
        make()  # type: ignore[operator]
    assert str(error.value) == text


@pytest.mark.parametrize("share", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_scenarios(share: int) -> None:
    for seed, scenario in enumerate(SCENARIOS[::share]):
        netlist, data = scenario.lowered()
        assert both(hopped(netlist, seed), data, values="all") == Status.FINISHED, scenario


def random_program(seed: int) -> str:
    """How a random program with hops ends on both engines; it is cut off somewhere, too."""
    program = built(seed, 3 + seed % 14, Program.contend if seed % 3 == 0 else Program.build)
    if program is None:
        return "none"
    netlist, data = hopped(lower(program.graph, program.fabric), seed), program.bound()
    status = both(netlist, data, timing_of=program.timing_of, max_cycles=LONGEST)
    both(netlist, data, timing_of=program.timing_of, max_cycles=Random(seed).randint(1, 160))
    return status.name


@pytest.mark.parametrize("block", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in range(1, 51))])
def test_random_programs(block: int) -> None:
    ends = Counter(map(random_program, range(40 * block, 40 * block + 40)))
    assert ends["FINISHED"] > 20 and ends["DEADLOCK"]


@pytest.mark.parametrize("block", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in range(1, 10))])
def test_jumps(block: int) -> None:
    """Slots on their way back are part of the state that comes again."""
    jumped = 0
    for seed in range(20 * block, 20 * block + 20):
        made = random_phases(seed)
        if made is None:
            continue
        program, netlist, data = made
        netlist = hopped(netlist, seed)
        over, through, slowly = (
            simulate(netlist, data, timing_of=program.timing_of, max_cycles=100_000, engine=engine, jump=jump)
            for engine, jump in (("compiled", True), ("compiled", False), ("python", False))
        )
        compare(over, slowly)
        compare(through, slowly)
        jumped += over.ending.jumped > 0
    assert jumped > 2


def test_a_deadlock_is_there_when_nothing_moves_any_more() -> None:
    """Tokens and slots that are still on their way move nothing that counts."""
    netlist = lower(fork_join(), FabricConfig(hop=7))
    data = bind_inputs(netlist.graph, {"x": [[*range(1, 40)], [1, 2]]})
    found = [both(netlist, data, max_cycles=cycles) for cycles in range(70, 95)]
    assert found == sorted(found, key=[Status.RUNAWAY, Status.DEADLOCK].index)
    assert set(found) == {Status.RUNAWAY, Status.DEADLOCK}


def test_distance_is_explained(graph: Graph) -> None:
    """It has its share of the critical path, and what would be without it is said."""
    found = explain(replace(chain(graph), fabric=FabricConfig(hop=3)))
    shares = found.path.shares()
    assert sum(shares.values()) == found.cycles
    assert sum(cycles for cause, cycles in shares.items() if cause.why == "distance") == 6
    assert [each.cycles for each in found.what_if if each.text == "--set fabric.hop=0"] == [found.cycles - 6]
