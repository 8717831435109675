"""Symbols get their values from a run that computes only what decides where data goes, and how much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_programs import build
from scenarios import SCENARIOS

from step import BF16, Graph, Simulator, Tile, bind, interpret
from step.errors import StepError
from step.functions import Add, Matmul, RetileCol, RetileRow, Silu, Transpose
from step.running.result import RunResult


def check(graph: Graph, inputs: Any) -> None:
    """Symbols are what a run shows that computes everything, unless no run can tell them apart.

    The fast model shows all of them, too, or says so: those of its own order, where data is taken as it arrives.
    """
    try:
        found = bind(graph, inputs)
    except StepError as error:
        assert "but not what each of" in str(error)
    else:
        assert found == interpret(graph, inputs).symbols
    for engine in ("compiled", "python"):
        result = run(graph, inputs, engine)
        if result.symbols is not None:
            assert result.symbols == interpret(graph, inputs, arrivals=result.arrivals).symbols


def run(graph: Graph, inputs: Any, engine: str) -> RunResult:
    """A run of the fast model that is asked for symbols."""
    return Simulator(graph, inputs=inputs, engine=engine, symbols=True).attempt().result


@pytest.mark.parametrize("part", range(4))
def test_scenarios(part: int) -> None:
    for scenario in SCENARIOS[part::4]:
        graph = Graph("scenario")
        check(graph, scenario.build(graph))


def test_random_programs() -> None:
    for seed in range(40):
        graph = Graph("random")
        check(graph, build(seed, graph).inputs)


def large(monkeypatch: pytest.MonkeyPatch) -> tuple[Graph, dict[str, Any]]:
    """Tiles of dynamic size through functions that must not be called."""

    def called(*values: Any) -> Any:
        raise AssertionError("it is computed, although nobody needs it")

    for function, verb in ((Matmul, "apply"), (Silu, "apply"), (Add, "update"), (RetileRow, "update")):
        monkeypatch.setattr(function, verb, called)
    for function in (RetileCol, Transpose):
        monkeypatch.setattr(function, "update" if function is RetileCol else "apply", called)
    graph = Graph("large")
    rows = graph.source("x", Tile(BF16, 1, 8), [2, graph.symbol("R", ragged=True)])
    w = graph.source("w", Tile(BF16, 8, 8), [2])
    tiles = rows.accum(RetileRow(), name="tile")
    tiles.map(Matmul(out=BF16), w).map(Silu()).map(Transpose()).sink("y")
    tiles.repeat(3).accum(Add(), name="sum").sink("z")
    rows.accum(RetileCol(), name="wide").sink("v")
    one = np.zeros((1, 8), np.float32)
    return graph, {"x": [[one] * 3, [one] * 4], "w": np.zeros((2, 8, 8))}


def test_no_value_is_computed_that_nobody_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, inputs = large(monkeypatch)
    with pytest.raises(AssertionError, match="it is computed"):
        interpret(graph, inputs)
    assert bind(graph, inputs) == {"R": 7}


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_a_run_shows_symbols_where_a_shape_is_assumed(engine: str, graph: Graph) -> None:
    x = graph.source("x", Tile(BF16, 1, 8), [2, graph.symbol("R", ragged=True)])
    left, right = x.partition(graph.selectors("which", 2, [2]), targets=2, rank=1, name="route")
    left.assume_shape([graph.symbol("N"), graph.symbol("L", ragged=True)]).accum(RetileRow(), name="tile").sink("y")
    right.accum(RetileRow(), name="tiles").sink("z")
    one = np.zeros((1, 8), np.float32)
    inputs = {"x": [[one] * 3, [one] * 4], "which": [0, 1]}
    found = run(graph, inputs, engine).symbols
    assert found is not None and found == bind(graph, inputs)
    assert (found["R"], found["N"], found["L"]) == (7, 1, 3)


def test_a_run_that_may_jump_is_not_watched(graph: Graph) -> None:
    graph.source("x", Tile(BF16, 1, 8), [graph.symbol("N")]).map(Silu()).sink("y")
    assert run(graph, {"x": np.zeros((5, 1, 8), np.float32)}, "compiled").symbols is None
