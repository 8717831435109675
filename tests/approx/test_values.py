"""Values are computed only where they decide what a unit does."""

from __future__ import annotations

import numpy as np
import pytest

from sim_approx.backend import run
from step.functions.cast import Cast
from step.functions.select import SelectValid
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.tokens import DONE, UNKNOWN, Token
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.programs.data.inputs import BoundInputs
from step.running.interpreter import interpret


def padded() -> Graph:
    """Rows of 4, from which the padding is taken out again: the padding flags make the selectors."""
    graph = Graph("padded")
    x = graph.source("x", Tile(BF16), [graph.symbol("N")]).map(Cast(BF16), name="before")
    data, padding = x.reshape(4, name="rows")
    flags = padding.map(SelectValid(), name="valid")
    (real,) = data.map(Cast(BF16), name="after").partition(flags, targets=1, name="drop")
    real.sink("y")
    return graph


def test_slice() -> None:
    units = lower(padded(), FabricConfig()).deciding
    assert units == {"rows", "valid"}  # what is padding, the stops say


def test_routing_by_computed_selectors() -> None:
    graph = padded()
    values = np.arange(6, dtype=BF16.numpy)
    result = run(graph, {"x": values}, FabricConfig(), events=True)
    assert result.events is not None
    assert len(result.events["drop.0"].cycles) == 7
    full = run(graph, {"x": values}, FabricConfig(), values="all")
    assert full.cycles == result.cycles
    assert full.outputs is not None
    assert [str(token) for token in full.outputs["y"]] == [
        str(token) for token in interpret(graph, {"x": values}).outputs["y"]
    ]


def test_values_that_do_not_matter_are_never_looked_at() -> None:
    """A load without data, and a map of values that nobody has."""
    graph = Graph("blind")
    table = graph.tensor("t", (4, 4), BF16)
    reference = graph.source("x", Tile(BF16), [graph.symbol("N")]).map(Cast(BF16))
    graph.load(table, tile=(4, 4), reference=reference, name="l").map(Cast(BF16)).sink("y")
    blind = BoundInputs({}, {"x": [Token(UNKNOWN), Token(UNKNOWN), DONE]})
    assert run(graph, blind, FabricConfig()).channels["l"].tokens == 3
    with pytest.raises(KeyError):
        run(graph, blind, FabricConfig(), values="all")
