"""What operators and memory did in intervals of a run: the counters of the run in sum, and of the run up to each."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scenarios import FABRIC, SCENARIOS, Scenario

import step
from step.errors import EnvironmentProblem, InputError
from step.functions import Add
from step.language.graph import Graph
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.running.profile import RunProfile
from step.running.result import RunResult


def check(graph: Graph, inputs: BoundInputs, fabric: step.FabricConfig, intervals: int) -> None:
    compiled, python = (
        step.Simulator(graph, inputs=inputs, fabric=fabric, engine=engine) for engine in ("compiled", "python")
    )
    found = compiled.profile(intervals=intervals)
    adds_up(found, compiled.run().result, intervals)
    for interval, end in enumerate(found.edges[1:-1].tolist(), 1):
        cut = python.attempt(max_cycles=end).result
        for name, each in cut.operators.items():
            spent = found.operators[name][:, :interval].sum(axis=1).tolist()
            assert spent == [each.starved, each.busy, each.blocked, each.finished], (name, end)


def adds_up(found: RunProfile, result: RunResult, intervals: int) -> None:
    assert found.cycles == result.cycles and len(found.lengths) <= intervals and found.lengths.sum() == result.cycles
    assert found.edges[-1] == result.cycles and np.array_equal(np.diff(found.edges), found.lengths)
    assert set(found.operators) == set(result.operators)
    for name, each in result.operators.items():
        spent = found.operators[name]
        assert np.array_equal(spent.sum(axis=0), found.lengths)
        assert spent.sum(axis=1).tolist() == [each.starved, each.busy, each.blocked, each.finished]
    assert found.beats.sum() == sum(each.beats for each in result.traffic.values())


@pytest.mark.parametrize("scenario", SCENARIOS[::4], ids=str)
def test_of_every_operator(scenario: Scenario) -> None:
    program = scenario.alone()
    check(program.graph, bind_inputs(program.graph, program.inputs), FABRIC, 7)


def sums() -> step.Program:
    graph = Graph("sums")
    graph.source("x", step.Tile(step.INT32, 1, 1), [400, 3]).accum(Add()).sink("y")
    return step.Program(graph, {"x": np.ones((400, 3, 1, 1))})


def test_a_run_in_which_phases_repeat_is_not_jumped_over() -> None:
    simulator = step.Simulator(sums())
    assert simulator.run().result.jumped_cycles > 0
    adds_up(simulator.profile(intervals=10), simulator.run().result, 10)
    deeper = simulator.run(depths={"x": 9}).result
    adds_up(simulator.profile(intervals=10, depths={"x": 9}), deeper, 10)


def test_the_python_engine_makes_none() -> None:
    text = "a profile is made by the compiled engine alone, and here the Python engine runs: it was asked for"
    with pytest.raises(EnvironmentProblem, match=text):
        step.Simulator(sums(), engine="python").profile()


def test_intervals_that_can_not_be() -> None:
    with pytest.raises(InputError, match=re.escape("intervals must be an integer >= 1, not 0")):
        step.Simulator(sums()).profile(intervals=0)
