"""Lanes and stages of single operators: what they change, on both floors, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from cases import cases
from raising import raised

import step
from step.errors import FabricError
from step.functions import Add, Matmul, RowSum, Silu
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.lowering.feasible import with_cuts, with_lanes
from step.lowering.netlist import lower
from step.lowering.plans import plan_of
from step.programs.program import Program


def program(lanes: dict[str, int] | None = None, cuts: dict[str, int] | None = None) -> Program:
    """Two products and the functions behind them, of tiles with several words."""
    graph = Graph("lanes")
    random = np.random.default_rng(5)
    x, w = (graph.source(name, step.Tile(BF16, 8, 16), (6,)) for name in ("x", "w"))
    first = x.map(Matmul(transposed=True), w, name="first")
    gate = first.map(Silu(), name="gate")
    second = gate.map(Add(), first, name="second")
    second.map(RowSum(), name="total").promote(name="same").sink("y")
    data = {name: random.standard_normal((6, 8, 16)).astype(np.float32) for name in ("x", "w")}
    return Program(graph, data, FabricConfig(link_bytes=16, lanes=lanes or {}, cuts=cuts or {}))


def test_an_operator_has_the_lanes_that_it_is_given() -> None:
    given = program({"first": 8, "gate": 4, "total": 1})
    netlist = lower(given.graph, given.fabric)
    assert [node.name for node in with_lanes(netlist)] == ["first", "gate", "second", "total"]
    for node in with_lanes(netlist):
        own = {"first": 8, "gate": 4, "second": 4, "total": 1}  # 4 FP32 a word
        assert plan_of(node, netlist.at(node)).lanes == own[node.name]
    nodes, plain = netlist.graph.nodes, program().fabric
    assert lower(given.graph, plain).at(nodes["gate"]) is plain
    assert netlist.at(nodes["gate"]) == replace(plain, matmul_lanes=4, vector_lanes=4)
    assert netlist.at(nodes["second"]) == plain


def test_fewer_lanes_take_more_cycles_and_both_floors_know_how_many() -> None:
    product, others = {"first": 2}, {"gate": 1, "second": 2, "total": 4}
    cycles = [step.run(program(lanes), "approx").cycles for lanes in ({}, others, product)]
    assert cycles == sorted(set(cycles))
    found = step.compare(program(product | others))
    assert found.agreed, found.complaints


def test_stages_are_those_of_the_operator() -> None:
    """Others keep those of the fabric; more of them take longer, as both floors know."""
    given = program(cuts={"first": 2, "gate": 6})
    netlist = lower(given.graph, given.fabric)
    assert [node.name for node in with_cuts(netlist)] == ["first", "gate", "second", "total"]
    assert [netlist.at(each).stages for each in with_cuts(netlist)] == [2, 6, 4, 4]
    fewer, plain, more = (step.run(program(cuts=cuts), "approx").cycles for cuts in ({"first": 2}, {}, {"gate": 6}))
    assert fewer < plain < more
    found = step.compare(given)
    assert found.agreed, found.complaints


@cases(
    ({"gates": 4},
     "cuts.gates=4 is for an operator that the program does not have; did you mean 'gate'? those with cuts "
     "are first, gate, second, total"),
    ({"same": 4},
     "promote 'same' ({here}): it has no arithmetic that is cut into stages, so cuts.same=4 has no meaning"),
)  # fmt: skip
def test_stages_of_nobody(cuts: dict[str, int], message: str) -> None:
    for backend in ("approx", "rtl"):
        error = raised(FabricError, step.run, program(cuts=cuts), backend)
        assert error == message.format(here=program().graph.nodes["same"].location)


@cases(
    ({"gates": 4},
     "lanes.gates=4 is for an operator that the program does not have; did you mean 'gate'? those with lanes "
     "are first, gate, second, total"),
    ({"same": 4},
     "promote 'same' ({here}): it has no lanes, so lanes.same=4 has no meaning; lanes have operators whose "
     "function treats the scalars of a tile"),
)  # fmt: skip
def test_lanes_of_nobody(lanes: dict[str, int], message: str) -> None:
    for backend in ("approx", "rtl"):
        error = raised(FabricError, step.run, program(lanes), backend)
        assert error == message.format(here=program().graph.nodes["same"].location)
