"""AXI4 masters with models of cocotbext-axi, on Verilator and Icarus: bits, errors, resets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from boards import ICARUS, Run, Wrapped
from scenarios import SCENARIOS

from step.language.graph import Graph
from step.lowering.board import BusConfig
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig

SIMULATORS = [
    "verilator",
    pytest.param("icarus", marks=pytest.mark.skipif(ICARUS is None, reason="needs Icarus Verilog")),
]
FABRIC = FabricConfig(matmul_lanes=8, link_bytes=4, memory=MemoryConfig(beat_bytes=8))
STORES = next(each for each in SCENARIOS if each.name == "random_off_chip_store-moved")


def stores() -> tuple[Graph, Any]:
    """Tiles that are read, stored elsewhere, and read there again, with acknowledgements."""
    graph = Graph("moved")
    return graph, STORES.build(graph)


Made = Callable[..., Wrapped]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    def make(simulator: str, bus: BusConfig) -> Wrapped:
        graph, inputs = stores()
        return Wrapped(graph, FABRIC, bus, tmp_path, inputs, simulator=simulator)

    return make


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_bits_are_those_of_the_interpreter(simulator: str, made: Made) -> None:
    wrapped = made(simulator, BusConfig(masters=2, bytes=8, burst=4))
    runs = [Run(seed=1, latency=0, pauses=0), Run(seed=2), Run(seed=3, latency=20, pauses=0.7)]
    for run, played in zip(runs, wrapped.play(*runs), strict=True):
        wrapped.check(run, played)
