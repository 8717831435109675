"""Lanes of single operators: what they change, on both floors, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from raising import raised

import step
from step.errors import FabricError
from step.functions import Add, Matmul, RowSum, Silu
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig, with_settings
from step.lowering.feasible import check_feasible, with_lanes
from step.lowering.netlist import lower
from step.lowering.plans import plan_of
from step.programs.program import Program
from step_check.fuzz.rebuild import Changes, rebuilt


def program(lanes: dict[str, int] | None = None) -> Program:
    """Two products and the functions behind them, of tiles with several words."""
    graph = Graph("lanes")
    random = np.random.default_rng(5)
    x, w = (graph.source(name, step.Tile(BF16, 8, 16), (6,)) for name in ("x", "w"))
    first = x.map(Matmul(transposed=True), w, name="first")
    gate = first.map(Silu(), name="gate")
    second = gate.map(Add(), first, name="second")
    second.map(RowSum(), name="total").promote(name="same").sink("y")
    data = {name: random.standard_normal((6, 8, 16)).astype(np.float32) for name in ("x", "w")}
    return Program(graph, data, FabricConfig(link_bytes=16, lanes=lanes or {}))


def test_an_operator_has_the_lanes_that_it_is_given() -> None:
    given = program({"first": 8, "gate": 4, "total": 1})
    netlist = lower(given.graph, given.fabric)
    assert [node.name for node in with_lanes(netlist)] == ["first", "gate", "second", "total"]
    for node in with_lanes(netlist):
        own = {"first": 8, "gate": 4, "second": 4, "total": 1}  # 4 FP32 a word
        assert plan_of(node, node.operator.function, netlist.at(node), reduce=False).lanes == own[node.name]
    nodes, plain = netlist.graph.nodes, program().fabric
    assert lower(given.graph, plain).at(nodes["gate"]) is plain
    assert netlist.at(nodes["gate"]) == replace(plain, matmul_lanes=4, vector_lanes=4)
    assert netlist.at(nodes["second"]) == plain


def test_fewer_lanes_take_more_cycles_and_both_floors_know_how_many() -> None:
    product, others = {"first": 2}, {"gate": 1, "second": 2, "total": 4}
    cycles = [step.run(program(lanes)).cycles for lanes in ({}, others, product)]
    assert cycles == sorted(set(cycles))
    found = step.compare(program(product | others))
    assert found.agreed, found.complaints


def test_lanes_are_saved_with_a_program_and_may_be_set(tmp_path: Path) -> None:
    saved = program({"gate": 4})
    saved.save(tmp_path / "lanes.json")
    assert step.load_program(tmp_path / "lanes.json").fabric == saved.fabric
    assert with_settings(saved.fabric, ["fabric.lanes.total=2", "lanes.gate=8"]).lanes == {"gate": 8, "total": 2}
    assert "lanes" not in program().fabric.to_json()
    assert hash(saved.fabric) != hash(program().fabric)


def test_a_sweep_over_the_lanes_of_an_operator() -> None:
    found = step.sweep(program(), {"lanes.first": [2, 64]}, jobs=1)
    assert [row.status for row in found.rows] == ["finished", "finished"]
    few, many = (row.cycles for row in found.rows)
    assert few > many


def test_a_smaller_program_has_the_lanes_that_are_left() -> None:
    smaller = rebuilt(program({"gate": 4, "total": 2}), Changes(without=frozenset({"y"}), sinks=(("second", 0),)))
    assert smaller.fabric.lanes == {"gate": 4}
    check_feasible(lower(smaller.graph, smaller.fabric))


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


def test_lanes_that_are_no_numbers_by_name() -> None:
    with pytest.raises(FabricError) as raised:
        FabricConfig(lanes=[("gate", 4)])  # type: ignore[arg-type]
    assert str(raised.value) == "lanes must be an object of numbers by the names of operators, not [('gate', 4)]"
