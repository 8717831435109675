"""Memory ports that share AXI4 buses: RTL behind its masters, both engines and the interpreter agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from farm import farm
from scenarios import SCENARIOS
from test_attention_exact import LENGTHS, SMALL, example
from test_exact import EXAMPLES, check

from step.language.dtypes import INT32, UINT32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.bus import BusConfig
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.programs.program import Program, load_program

pytestmark = pytest.mark.large

FABRIC = FabricConfig(link_bytes=8, memory=MemoryConfig(beat_bytes=16, latency=5))
"""A store gathers its beat from two words, so it offers one in every other cycle."""


def program(bus: BusConfig, *, loads: int = 2, stores: bool = True) -> Program:
    """Loads of tiles of one, two and four beats that go out, and with ``stores`` two that are linear and one random."""
    graph, inputs = Graph("shared"), dict[str, Any]()
    for at in range(loads):
        inputs[f"x{at}"] = np.arange(256).reshape(16, 16) + at
        tile = [(4, 4), (1, 4), (2, 4)][at % 3]
        stream = graph.load(graph.tensor(f"x{at}", (16, 16), INT32), tile=tile, name=f"load{at}")
        if stores and at < 2:
            stream.store(f"y{at}")
        else:
            stream.sink(f"y{at}")
    if stores:
        inputs["kept"], inputs["places"] = np.zeros((12, 4), int), np.array([3, 0, 5, 5, 1, 4], np.uint32)
        inputs["rows"] = [np.full((2, 4), each, np.int32) for each in range(6)]
        rows, places = graph.source("rows", Tile(INT32, 2, 4), [6]), graph.source("places", Tile(UINT32), [6])
        rows.store_random(graph.tensor("kept", (12, 4), INT32), places, name="keep").sink("acknowledged")
    return Program(graph, inputs, replace(FABRIC, memory=replace(FABRIC.memory, bus=bus)))


def check_memories(made: Program) -> None:
    """Exact with plain memory, with one that is slow, and with banks and rows: one build serves them all."""
    check(made)
    memory = made.fabric.memory
    slow = replace(memory, channels=1, interval=3, latency=40)
    for each in (slow, MemoryConfig.preset("ddr4", beat_bytes=memory.beat_bytes, bus=memory.bus)):
        check(replace(made, fabric=replace(made.fabric, memory=each)))


def test_loads_and_stores_on_two_masters() -> None:
    check_memories(program(BusConfig(masters=2, bytes=8, burst=4, outstanding=2)))


def test_a_burst_of_which_beats_are_visible_before_the_last_is_sent() -> None:
    """Forty beats in bursts of sixteen, and memory that takes nine cycles."""
    graph = Graph("long")
    graph.source("x", Tile(UINT32, 40, 1), [3]).store("y")
    memory = MemoryConfig(beat_bytes=4, latency=9, bus=BusConfig(bytes=4, outstanding=2))
    check(Program(graph, {"x": np.arange(120).reshape(3, 40, 1)}, FabricConfig(link_bytes=8, memory=memory)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "bus",
    [
        BusConfig(masters=1, bytes=8, burst=2),
        BusConfig(masters=1, bytes=16, burst=4, outstanding=1),
        BusConfig(masters=1, bytes=64),
        BusConfig(masters=2, bytes=4, burst=16),
        BusConfig(masters=4, bytes=32, burst=8, outstanding=3),
    ],
    ids=str,
)
def test_three_loads_and_three_stores(bus: BusConfig) -> None:
    """Beats are wider than the bus, as wide, and narrower."""
    check_memories(program(bus, loads=3))


@pytest.mark.slow
@pytest.mark.parametrize("loads", [1, 3])
def test_loads_alone(loads: int) -> None:
    check_memories(program(BusConfig(masters=1), loads=loads, stores=False))


@pytest.mark.slow
@pytest.mark.parametrize("masters", [1, 2])
@pytest.mark.parametrize("name", ["attention", "moe"])
def test_attention_and_experts(name: str, masters: int) -> None:
    moe = name == "moe"
    made = load_program(f"{EXAMPLES / 'moe_simple.py'}:small") if moe else example.build(LENGTHS, **SMALL)
    memory = replace(made.fabric.memory, bus=BusConfig(masters))
    check(replace(made, fabric=replace(made.fabric, memory=memory)))


@pytest.mark.slow
def test_every_scenario_at_memory() -> None:
    """Among them ragged streams, tiles of less than a beat, faults of none, and loads of what was stored."""
    at_memory = [each for each in SCENARIOS if "off_chip" in each.operator]
    made = farm("shared", at_memory)
    memory = replace(made.fabric.memory, bus=BusConfig(masters=3, bytes=made.fabric.memory.beat_bytes))
    check(replace(made, fabric=replace(made.fabric, memory=memory)))
