"""Where the cycles went: every cycle of every run is accounted for, along the critical path and in every operator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from scenarios import FABRIC, SCENARIOS, Scenario

from sim_approx.backend import run
from sim_approx.explain.edges import Paces
from sim_approx.explain.explanation import Explanation, explain
from sim_approx.explain.path import binding_edges
from step.language.graph import Graph
from step.lowering.fabric import MemoryConfig
from step.programs.program import Program, load_program

EXAMPLES = sorted(
    each for each in (Path(__file__).parents[2] / "examples").glob("*.py") if "def program" in each.read_text()
)


def check(program: Program) -> Explanation:
    """The path leads from the start to the end, and all that is said of operators is what was counted."""
    found = explain(program, changes=False)
    assert found.result.cycles == run(program.graph, program.inputs, program.fabric).cycles
    begins = 0
    for step in found.path.steps:
        assert step.since == begins < step.until
        begins = step.until
    assert begins == found.cycles == sum(found.path.shares().values())
    for name, each in found.accounts.items():
        counted = found.result.operators[name]
        assert (each.busy, each.finished) == (counted.busy, counted.finished), name
        assert (each.starved.total(), each.blocked.total()) == (counted.starved, counted.blocked), name
    fabric = found.simulation.fabric
    for number, (_, late) in enumerate(binding_edges(found.record, Paces.of(fabric))):
        # Only the banks of shared scratchpads, and DRAM, make anybody wait for what no edge says.
        machine = fabric.machines[found.record.events[number].machine]
        has_dram = machine is fabric.memory and program.fabric.memory.dram is not None
        assert late == 0 or (late > 0 and (machine.contends or has_dram)), machine
    return found


def program_of(scenario: Scenario, memory: MemoryConfig = FABRIC.memory) -> Program:
    graph = Graph("scenario")
    return Program(graph, scenario.build(graph), replace(FABRIC, memory=memory))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_every_cycle_of_a_scenario_is_explained(scenario: Scenario) -> None:
    check(program_of(scenario))


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if "off_chip" in each.operator], ids=str)
def test_every_cycle_with_dram_is_explained(scenario: Scenario) -> None:
    check(program_of(scenario, MemoryConfig.preset("ddr4", beat_bytes=4)))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_cycle_of_an_example_is_explained(path: Path) -> None:
    check(load_program(str(path)))
