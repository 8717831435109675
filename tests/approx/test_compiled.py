"""The compiled engine equals the Python engine, whatever a run comes to."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from random_graphs import Program
from same import both
from scenarios import FABRIC, SCENARIOS, Scenario

from step.errors import Deadlock, StreamFault
from step.language.graph import Graph
from step.lowering.netlist import lower
from step.programs.inputs import bind_inputs
from step.running.result import Status

LONGEST = 5000


@pytest.mark.parametrize("values", ["control", "all"])
def test_scenarios(values: str) -> None:
    for scenario in SCENARIOS:
        run_scenario(scenario, values)


def run_scenario(scenario: Scenario, values: str) -> None:
    graph = Graph("scenario")
    inputs = scenario.build(graph)
    netlist = lower(graph, FABRIC)
    assert both(netlist, bind_inputs(netlist.graph, inputs), values=values) == Status.FINISHED  # type: ignore[arg-type]


def random_program(seed: int, steps: int) -> Status | None:
    """A random program without DRAM on both engines, also cut off somewhere."""
    program = Program(Random(seed))
    try:
        program.build(steps)
    except (StreamFault, Deadlock):
        return None
    plain = replace(program.fabric, memory=replace(program.fabric.memory, dram=None))
    netlist, data = lower(program.graph, plain), program.bound()
    status = both(netlist, data, timing_of=program.timing_of, max_cycles=LONGEST)
    both(netlist, data, timing_of=program.timing_of, max_cycles=Random(seed).randint(1, 120))
    return status


@pytest.mark.parametrize("block", range(4))
def test_random_programs(block: int) -> None:
    endings: Counter[Status | None] = Counter()
    for seed in range(50_000 + block * 30, 50_000 + (block + 1) * 30):
        endings[random_program(seed, 3 + seed % 14)] += 1
    assert endings[Status.FINISHED] > 10 and endings[Status.DEADLOCK] + endings[Status.FAULT] > 2, endings
