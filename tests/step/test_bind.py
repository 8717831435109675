"""Symbols get their values from a run that computes only what decides where data goes, and how much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_programs import build
from scenarios import SCENARIOS

from step import BF16, Graph, Tile, bind, interpret
from step.errors import StepError
from step.functions import Add, Matmul, RetileCol, RetileRow, Silu, Transpose


def check(graph: Graph, inputs: Any) -> None:
    """Symbols are what a run shows that computes everything, unless no run can tell them apart."""
    try:
        found = bind(graph, inputs)
    except StepError as error:
        assert "but not what each of" in str(error)
    else:
        assert found == interpret(graph, inputs).symbols


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
