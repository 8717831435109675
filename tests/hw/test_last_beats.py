"""Loads reach the last beat that has an address: requests do not wrap."""

from __future__ import annotations

from typing import Any

from driving import drive

from hw.units import constants_of, unit_of
from step import INT8, UINT32, FabricConfig, Graph, MemoryConfig, Tile
from step.lowering.memory import memory_map
from step.lowering.netlist import lower


def test_requests_of_a_walk(graph: Graph) -> None:
    at = graph.source("at", Tile(UINT32), [1])
    at.load_random(graph.tensor("much", ((1 << 32) - 64, 1), INT8), tile=(1, 1)).sink("y")
    graph.load(graph.tensor("x", (64, 1), INT8), tile=(1, 1), out=[2, 3], stride=[-20, -11], offset=63, name="ld").sink(
        "z"
    )
    netlist = lower(graph, FabricConfig(memory=MemoryConfig(beat_bytes=1)))
    node = netlist.graph.nodes["ld"]
    dut: Any = unit_of(node, netlist)
    base = constants_of(node, memory_map(netlist))["base"]
    assert base == (1 << 32) - 64 + 21
    asked = list[int]()

    async def bench(bus: Any) -> None:
        bus.set(dut.base, base)
        bus.set(dut.request.ready, 1)
        for _ in range(40):
            await bus.tick()
            if bus.get(dut.request.valid):
                asked.append(bus.get(dut.request.payload))

    drive(dut, bench)
    assert asked == [(1 << 32) - 1 - each for each in (0, 11, 22, 20, 31, 42)]
