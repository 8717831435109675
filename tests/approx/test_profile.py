"""What operators and memory did in intervals of a run: the same on both engines, and the counters of the run in sum."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scenarios import FABRIC, SCENARIOS, Scenario

import step
from step.errors import InputError
from step.functions import Add
from step.language.graph import Graph
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.running.profile import RunProfile
from step.running.result import RunResult


def check(graph: Graph, inputs: BoundInputs, fabric: step.FabricConfig, intervals: int) -> None:
    compiled, python = (
        step.Simulator(graph, inputs=inputs, fabric=fabric, engine=engine) for engine in ("compiled", "python")
    )
    found, other = (each.profile(intervals=intervals) for each in (compiled, python))
    assert (found.cycles, found.width) == (other.cycles, other.width)
    assert np.array_equal(found.beats, other.beats)
    assert all(np.array_equal(each, other.operators[name]) for name, each in found.operators.items())
    adds_up(found, compiled.run().result, intervals)


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
    graph = Graph("scenario")
    inputs = bind_inputs(graph, scenario.build(graph))
    check(graph, inputs, FABRIC, 7)


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


def test_intervals_that_can_not_be() -> None:
    with pytest.raises(InputError, match=re.escape("intervals must be an integer >= 1, not 0")):
        step.Simulator(sums()).profile(intervals=0)
