"""Every unit against its operator's meaning."""

from __future__ import annotations

from collections import Counter
from zlib import crc32

import pytest
from fabric_bench import Run, packed, simulate
from scenarios import FABRIC, SCENARIOS, Scenario

from hw.layout import pack_element
from step.language.checker import StreamChecker
from step.language.graph import Graph
from step.language.tokens import Token
from step.running.interpreter import interpret

PRESSURE = {"free": (0.0, 0.0), "idle": (0.5, 0.0), "pressed": (0.0, 0.6), "both": (0.3, 0.4)}
"""How likely sources wait and sinks are not ready."""


def check(scenario: Scenario, how: str) -> Run:
    graph = Graph("scenario")
    inputs = scenario.build(graph)
    expected = interpret(graph, inputs, record=True)
    idle, pressure = PRESSURE[how]
    run = simulate(graph, inputs, FABRIC, idle=idle, pressure=pressure, seed=crc32(how.encode()))
    assert run.finished and not run.faults
    for channel in run.fabric.channels:
        edge, name = channel.edge, channel.edge.name
        if scenario.ordered:
            wanted = [packed(token, channel) for token in expected.streams[name]]
            assert [(header, words) for _, header, words in run.entered[name]] == wanted, name
        else:
            check_unordered(run.tokens(name), expected.streams[name], StreamChecker(name, edge.type))
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


def check_unordered(got: list[Token], expected: list[Token], checker: StreamChecker) -> None:
    """The same elements in a stream of the same shape."""
    for token in got:
        checker.see(token)
    assert Counter(str(each.value) for each in got) == Counter(str(each.value) for each in expected)
    assert [each.done for each in got] == [each.done for each in expected]


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


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_means_what_its_operator_means(scenario: Scenario) -> None:
    check(scenario, some_pressure(scenario))


@pytest.mark.slow
@pytest.mark.parametrize("how", PRESSURE)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_means_so_under_every_pressure(scenario: Scenario, how: str) -> None:
    check(scenario, how)
