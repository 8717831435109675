"""When units fire, what they show, and how they fail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fabric_bench import simulate
from grids import samples
from scenarios import BROKEN, FABRIC, SCENARIOS, Bench, Broken

from step.errors import StreamFault
from step.functions.elementwise import Mul
from step.functions.matmul import Matmul
from step.functions.retile import RetileRow
from step.language.dtypes import BF16
from step.language.faults import Fault
from step.language.graph import Graph
from step.language.types import Tile
from step.programs.data.inputs import BoundInputs
from step.running.interpreter import interpret
from step.running.result import Activity

STARVED, BUSY, BLOCKED, FINISHED = Activity


def of_scenario(name: str, **how: object):
    graph = Graph("scenario")
    (scenario,) = (each for each in SCENARIOS if each.name == name)
    return simulate(graph, scenario.build(graph), FABRIC, **how)


def test_a_token_moves_one_channel_a_cycle():
    run = of_scenario("promote-flat0")
    assert run.cycles("x") == [0, 1, 2, 3, 4, 5]
    # The first token is held without leaving; Done is there in cycle 6, and taken after the token held.
    assert run.cycles("promote_0") == [2, 3, 4, 5, 6, 7]
    assert run.activity["promote_0"][:9] == [STARVED, *[BUSY] * 7, FINISHED]


def test_static_expand_fires_for_every_copy():
    run = of_scenario("expand-static-3")
    # The third token finds both slots taken until the second one's, free at the end of cycle 3.
    assert run.cycles("x") == [0, 1, 4]
    assert run.cycles("expand_0") == [1, 2, 3, 4, 5, 6, 7]


def test_a_map_takes_its_initiation_interval_and_its_latency():
    graph = Graph("map")
    bench = Bench(graph)
    dims = bench.dims(["N", "M"])
    left = bench.play("x", "1 2 S1 E1 3 S1 D", dims, Tile(BF16, 4, 4))
    left.map(Matmul(), bench.play("w", "1 2 S1 E1 3 S1 D", dims, Tile(BF16, 4, 4)), name="y").buffered(4).sink("out")
    run = simulate(graph, bench.inputs, FABRIC)
    rule = run.fabric.units[2].component.rule
    interval, latency, words = rule.initiation_interval, rule.latency, 4 * 4 * 2 // FABRIC.link_bytes
    assert interval == 4 * 4 * 4 // FABRIC.matmul_lanes == 2 * words and latency > words
    # Values occupy the unit, empties and Done one cycle; all of them take the latency. The source gathers the words.
    fired = [words + each for each in (0, interval, 2 * interval, 2 * interval + 1, 3 * interval + 1)]
    assert run.cycles("y") == [cycle + latency for cycle in fired]
    assert run.activity["y"][: fired[-1] + 2] == [*[STARVED] * words, *[BUSY] * (fired[-1] - words + 1), FINISHED]
    assert run.fabric.channels[2].capacity == 4 + latency // interval


def test_pressure_blocks_every_unit_when_its_channel_is_full():
    graph = Graph("map")
    bench = Bench(graph)
    dims, tile = bench.dims(["N"]), Tile(BF16, 2, 2)
    text = " ".join(str(number) for number in range(20)) + " D"
    x = bench.play("x", text, dims, tile).buffered(3)
    x.map(Mul(), bench.play("w", text, dims, tile), name="y").sink("out")
    run = simulate(graph, bench.inputs, FABRIC, pressure=1.0, most=60)
    assert not run.finished
    capacity = {each.edge.name: each.capacity for each in run.fabric.channels}
    assert capacity["x"] == 3 and capacity["w"] == FABRIC.channel_depth < capacity["y"]
    through = capacity["y"] + 1  # one more is on offer at the sink
    assert {name: len(tokens) for name, tokens in run.entered.items()} == {
        "x": capacity["x"] + through,
        "w": capacity["w"] + through,
        "y": through,
    }
    assert {name: each[-1] for name, each in run.activity.items()} == dict.fromkeys(["x", "w", "y", "out"], BLOCKED)


def test_the_oldest_chunk_goes_first():
    """Input 1 has its token long before input 0; order by arrival takes it, order by index waits."""
    for order, expected in (("arrival", [2, 1]), ("index", [1, 2])):
        graph = Graph("order")
        bench = Bench(graph)
        slow = bench.play("a", "1 D", [graph.symbol("A")])
        for _ in range(3):
            slow = slow.promote().flatten(0, 1)
        fast = bench.play("b", "2 D", [graph.symbol("B")])
        which = bench.choose("which", "3 D", 2, ["N"])
        graph.reassemble([slow, fast], which, order=order, name="y").sink("out")
        run = simulate(graph, bench.inputs, FABRIC)
        values = [token.value for token in run.tokens("y") if token.has_value]
        assert [int(value[0, 0]) for value in values] == expected, order


def check_fault(graph: Graph, inputs: Any, operator: str, fault: Fault, idle: float, hop: int = 0) -> None:
    run = simulate(graph, inputs, replace(FABRIC, hop=hop), idle=idle)
    (name,) = run.faults
    cycle, found = run.faults[name]
    assert graph.nodes[name].operator.name == operator
    assert found == fault
    assert run.activity[name][cycle] == STARVED


@samples(broken=BROKEN, idle=[0.0, 0.5], hop=[0, 1])
def test_contract_violations_are_faults(broken: Broken, idle: float, hop: int):
    graph = Graph("broken")
    inputs = broken.build(graph)
    with pytest.raises(StreamFault):
        interpret(graph, inputs)
    check_fault(graph, inputs, broken.operator, broken.fault, idle, hop)


@pytest.mark.parametrize("text", ["1 2 S1 3 S1 D", "1 2 S1 3 4 5 6 S1 D", "E1 D"])
def test_a_reduction_counts_what_it_was_promised(text: str):
    """No checked input gets that far; the unit minds nevertheless."""
    graph = Graph("broken")
    bench = Bench(graph)
    bench.play("x", text, ["N", 2], Tile(BF16, 2, 3)).accum(RetileRow()).sink("y")
    check_fault(graph, BoundInputs({}, bench.inputs), "accum", Fault.WRONG_COUNT, 0.0)
