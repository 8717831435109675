"""Loops in the place of lists: both engines walk them alike."""

from __future__ import annotations

import numpy as np
import pytest
from same import both
from scenarios import FABRIC, SCENARIOS

from sim_approx.backend import Model, simulate
from step.functions.cast import Cast
from step.language import loops
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.loops import RegularStream
from step.language.types import Tile
from step.lowering.netlist import lower
from step.programs.data import inputs
from step.programs.data.inputs import bind_inputs
from step.running.result import Status


@pytest.fixture
def no_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (loops, inputs):
        monkeypatch.setattr(module, "SHORT", 0)


@pytest.mark.parametrize("values", ["control", "all"])
def test_scenarios(values: str, no_lists: None) -> None:
    walking = ("source", "linear_off_chip_load", "generate")
    for scenario in (each for each in SCENARIOS if each.operator in walking):
        assert both(*scenario.lowered(), values=values) == Status.FINISHED  # type: ignore[arg-type]


def test_walks_in_every_direction(no_lists: None, graph: Graph) -> None:
    """A read per element of a stream of arrays, with strides that go back and repeat."""
    x = graph.source("x", Tile(BF16), [graph.symbol("N"), 3])
    table = graph.tensor("t", (16, 64), BF16)
    graph.load(table, tile=(4, 4), out=(2, 3, 2), stride=(-16, 0, 5), offset=20, reference=x).map(Cast(BF16)).sink("y")
    once = graph.load(table, tile=(4, 4))
    once.sink("z")
    netlist = lower(graph, FABRIC)
    data = bind_inputs(netlist.graph, {"x": np.zeros((4, 3, 1, 1)), "t": np.arange(1024).reshape(16, 64) % 256})
    assert isinstance(data.streams["x"], RegularStream)
    for values in ("control", "all"):
        assert both(netlist, data, values=values) == Status.FINISHED  # type: ignore[arg-type]
    listed = [simulate(netlist, data, values="all", engine=engine).result() for engine in ("compiled", "python")]
    assert listed[0].outputs is not None and listed[1].outputs is not None
    assert str(listed[0].outputs["y"]) == str(listed[1].outputs["y"])


def test_a_long_run_takes_no_memory(graph: Graph) -> None:
    """A stream of a hundred million tokens is a few numbers for the engine, until it is run."""
    graph.source("x", Tile(BF16), [graph.symbol("N")]).map(Cast(BF16)).sink("y")
    netlist = lower(graph, FABRIC)
    data = bind_inputs(netlist.graph, {"x": np.broadcast_to(np.zeros((), BF16.numpy), (100_000_000, 1, 1))})
    run = Model(netlist, data, engine="compiled").run(max_cycles=1000)
    assert run.ending.status == Status.RUNAWAY and run.ending.entered[run.fabric.channels[0]][0] == 1000
