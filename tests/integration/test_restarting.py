"""Reset in the midst of a run, in any cycle, in front of a memory that goes on: a whole run behind it is right.

`tests/hw/test_restart.py` stops every operator in some cycles, by default.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from restart import build, restarts

from cosim.building.design import load_design
from cosim.running.bench_run import memory_image, source_transfers
from hw.design.emit import emit
from step.language.dtypes import BF16, INT32, UINT32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import bind_inputs

FABRIC = FabricConfig(link_bytes=8, outstanding=4, memory=MemoryConfig(beat_bytes=8))
NUMBER = Tile(UINT32)


def program() -> tuple[Graph, dict[str, Any]]:
    """Loads and stores of both kinds, of one beat and of several, and a load of what was stored."""
    graph, random = Graph("restarted"), np.random.default_rng(0)
    x = graph.load(graph.tensor("x", (12, 16), BF16), tile=(1, 16), name="rows")
    x.store("y")
    x.sink("x_again")
    picked = graph.source("which", NUMBER, [9]).load_random(graph.tensor("a", (8, 4), BF16), tile=(1, 4), name="picked")
    picked.sink("z")
    cache, where = graph.tensor("cache", (4, 8), INT32), graph.source("where", NUMBER, [5])
    stored = graph.source("data", Tile(INT32, 2, 2), [5]).store_random(cache, where, name="keep")
    places, references = (each.reshape(1)[0] for each in (where, stored))
    places.expand(references, rank=1).flatten(0, 1).load_random(cache, tile=(2, 2), name="kept").sink("kept_again")
    return graph, {
        "x": random.random((12, 16)),
        "a": random.random((8, 4)),
        "cache": random.integers(0, 1000, (4, 8)),
        "which": [5, 0, 7, 7, 1, 2, 6, 3, 4],
        "where": [3, 1, 7, 0, 6],
        "data": random.integers(0, 1000, (5, 2, 2)),
    }


class Restarted:
    """The program, built."""

    def __init__(self, directory: Path) -> None:
        graph, inputs = program()
        netlist, bound = lower(graph, FABRIC), bind_inputs(graph, inputs)
        self.directory = directory
        emit(netlist, directory / "design", probes=False)
        self.design = load_design(directory / "design")
        self.sources, self.image = source_transfers(netlist, bound), memory_image(netlist, bound)
        self.simulator = build(self.design, directory, self.sources)

    def stopped(self, memory: MemoryConfig, step: int = 1) -> None:
        """Stop runs after every ``step``-th cycle."""
        run = self.simulator, self.design, self.directory / "run", self.sources, self.image, memory
        length, _ = restarts(*run, ())
        assert restarts(*run, range(0, length + 3, step)) == (length, [])


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Restarted:
    return Restarted(tmp_path_factory.mktemp("restarted"))


MEMORIES = {
    "eight channels": MemoryConfig(beat_bytes=8, latency=60),
    "one channel": MemoryConfig(beat_bytes=8, channels=1, latency=60),
    "a slow channel": MemoryConfig(beat_bytes=8, channels=1, interval=7, latency=60),
    "hbm2": MemoryConfig.preset("hbm2", beat_bytes=8),
    "ddr4": MemoryConfig.preset("ddr4", beat_bytes=8),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MEMORIES)
def test_a_reset_in_any_cycle(restarted: Restarted, name: str) -> None:
    restarted.stopped(MEMORIES[name])


@pytest.mark.slow
@pytest.mark.parametrize("latency", [1, 2, 3, 7, 24, 113, 200])
def test_a_reset_in_front_of_any_latency(restarted: Restarted, latency: int) -> None:
    restarted.stopped(MemoryConfig(beat_bytes=8, latency=latency), step=5)


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 8])
@pytest.mark.parametrize("latency", range(1, 201))
def test_a_reset_in_any_cycle_in_front_of_any_latency(restarted: Restarted, latency: int, channels: int) -> None:
    restarted.stopped(MemoryConfig(beat_bytes=8, latency=latency, channels=channels))
