"""Both engines note the same of what firings wait for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scenarios import FABRIC, Scenario, one_of
from test_dynamic_tiles import data, expert

from sim_approx.engine.record import NOBODY, RunRecord
from sim_approx.running.model import simulate
from sim_approx.running.model_run import EngineName
from step import FabricConfig
from step.language.graph import Graph
from step.lowering.netlist import lower
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import bind_inputs
from step.programs.program import Program, load_program

EXAMPLES = Path(__file__).parents[2] / "examples"


def recorded(program: Program, engine: EngineName) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Events, each with the cycle and machine of its origin, and waits, in an order that no engine decides."""
    netlist, record = lower(program.graph, program.fabric), RunRecord()
    ending = simulate(netlist, bind_inputs(netlist.graph, program.inputs), engine=engine, record=record).ending
    events = record.events
    origins = [
        (-1, -1) if each == NOBODY else (int(events["cycle"][each]), int(events["machine"][each]))
        for each in events["origin"].tolist()
    ]
    assert np.all(np.diff(events["cycle"]) >= 0)
    rows = [
        (cycle, machine, *of, *rest)
        for (cycle, _, machine, *rest), of in zip(events.tolist(), origins, strict=True)
        if cycle < ending.cycles
    ]
    waits = [(since, min(until, ending.cycles), *of) for since, until, *of in record.waits.tolist()]
    return sorted(rows), sorted(each for each in waits if each[0] < each[1])


def same(program: Program) -> None:
    (compiled, waits), (python, waits_there) = (recorded(program, each) for each in ("compiled", "python"))
    assert compiled == python and compiled
    assert waits == waits_there


@pytest.mark.parametrize("scenario", one_of(4))
def test_of_a_scenario(scenario: Scenario) -> None:
    graph = Graph("scenario")
    same(Program(graph, scenario.build(graph), FABRIC))


@pytest.mark.parametrize("name", ["moe_simple", "softmax", "norm_qkv"])
def test_of_an_example(name: str) -> None:
    same(load_program(str(EXAMPLES / f"{name}.py")))


def test_with_dram() -> None:
    program = load_program(str(EXAMPLES / "moe_simple.py"))
    beat = program.fabric.memory.beat_bytes
    memory = MemoryConfig.preset("ddr4", beat_bytes=beat)
    same(replace(program, fabric=replace(program.fabric, memory=memory)))


def test_of_tiles_of_dynamic_size() -> None:
    rows = [5, 1, 7, 2]
    same(Program(expert(len(rows), 0), data(rows), FabricConfig(matmul_lanes=4)))
