"""Every unit against its operator's meaning."""

from __future__ import annotations

from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest
from approx.test_scenarios import texts
from fabric_bench import Run, packed, simulate
from scenarios import FABRIC, SCENARIOS, Scenario, one_of

from hw.links.packing import pack_element
from step.language.dtypes import FP32
from step.language.graph import Graph
from step.language.tokens import Token
from step.lowering.off_chip import MemoryConfig
from step.running.interpreter import interpret

PRESSURE = {"free": (0.0, 0.0), "idle": (0.5, 0.0), "pressed": (0.0, 0.6), "both": (0.3, 0.4)}
"""How likely sources wait and sinks are not ready."""


def check(scenario: Scenario, how: str) -> Run:
    program = scenario.alone()
    graph, inputs = program.graph, program.inputs
    idle, pressure = PRESSURE[how]
    run = simulate(graph, inputs, FABRIC, idle=idle, pressure=pressure, seed=crc32(how.encode()))
    assert run.finished and not run.faults
    expected = interpret(graph, inputs, record=True, arrivals=run.arrivals)
    if scenario.ordered:
        assert texts(expected.outputs) == texts(interpret(graph, inputs).outputs)
    for channel in run.fabric.channels:
        name = channel.edge.name
        wanted = [packed(token, channel) for token in expected.streams[name]]
        assert [(header, words) for _, header, words in run.entered[name]] == wanted, name
    for name, words in run.written.items():
        access = run.fabric.netlist.graph.nodes[name].operator.writes(run.fabric.netlist.graph.nodes[name])
        assert access is not None
        if access.tensor is None:
            check_written(run, name, expected.outputs[name], words)
        else:
            region = run.fabric.memory.stores[name]
            held = dict(enumerate(run.memory[region.base : region.base + region.beats], start=region.base))
            check_written(run, name, expected.outputs[access.tensor], held)
    return run


def check_written(run: Run, name: str, expected: list[Token], words: dict[int, int]) -> None:
    """The tiles, one after the other, from the base of the region."""
    region, element = run.fabric.memory.stores[name], run.fabric.netlist.graph.nodes[name].inputs[-1].element
    bits = 8 * FABRIC.memory.beat_bytes
    tiles = [pack_element(token.value, element) for token in expected if token.has_value]
    assert words == {
        region.base + number * region.beats_per_tile + beat: tile >> beat * bits & ((1 << bits) - 1)
        for number, tile in enumerate(tiles)
        for beat in range(region.beats_per_tile)
    }


def some_pressure(scenario: Scenario) -> str:
    """Each scenario has one, all get their share."""
    return list(PRESSURE)[crc32(scenario.name.encode()) % len(PRESSURE)]


@pytest.mark.parametrize("scenario", one_of(24))
def test_means_what_its_operator_means(scenario: Scenario) -> None:
    """Each operator meets pressure with other programs in `test_units_with_anything.py`, too."""
    check(scenario, some_pressure(scenario))


@pytest.mark.slow
@pytest.mark.parametrize("how", PRESSURE)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_means_so_under_every_pressure(scenario: Scenario, how: str) -> None:
    check(scenario, how)


def test_memory_may_be_faster_than_the_link(graph: Graph) -> None:
    """While the words of a tile leave, the beats of that which gets its slot come in."""
    loaded = graph.load(graph.tensor("a", (48, 4), FP32), tile=(4, 4), name="load")
    loaded.sink("y")
    fabric = replace(FABRIC, link_bytes=1, memory=MemoryConfig(beat_bytes=16, channels=1, interval=1, latency=1))
    inputs = {"a": np.arange(192, dtype=np.float32).reshape(48, 4)}
    run = simulate(graph, inputs, fabric)
    assert run.finished and not run.faults
    (channel,) = run.fabric.channels
    wanted = [packed(token, channel) for token in interpret(graph, inputs, record=True).streams["load"]]
    assert [(header, words) for _, header, words in run.entered["load"]] == wanted
