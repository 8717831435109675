"""Memory ports that share AXI4 buses, in the fast model: both engines, on random programs and at the ends of runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from same import both

from step.functions import Cast, Max
from step.language.dtypes import INT32, UINT32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.bus import BusConfig
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.programs.prepare import prepare
from step.programs.program import Program
from step.running.result import Status
from step_check.fuzz.program import for_graph, program

BUSES = (
    BusConfig(masters=1, bytes=1, burst=64, outstanding=1),
    BusConfig(masters=2, bytes=8, burst=8, outstanding=2),
    BusConfig(masters=4),
)


def check(seeds: Iterable[int]) -> int:
    """Random programs on both engines, whole and cut off; returns how many of them share buses."""
    shared = 0
    for seed in seeds:
        made = program(seed)
        memory = replace(made.fabric.memory, bus=BUSES[seed % len(BUSES)])
        prepared = prepare(replace(made, fabric=for_graph(replace(made.fabric, memory=memory), made.graph)))
        shared += prepared.netlist.fabric.memory.masters > 0
        ended = both(prepared.netlist, prepared.data)
        if ended == Status.FINISHED:
            both(prepared.netlist, prepared.data, max_cycles=50 + seed)
    return shared


def test_random_programs() -> None:
    assert check(range(12)) >= 6


def test_a_deadlock_amid_a_tile_is_found() -> None:
    """A store that may not acknowledge keeps the last beat of a tile from its master, while another store waits."""
    graph = Graph("amid")
    rows, places = graph.source("rows", Tile(INT32, 4, 4), [2, 8]), graph.source("places", Tile(UINT32), [2, 8])
    told = rows.store_random(graph.tensor("kept", (32, 4), INT32), places).map(Cast(INT32))
    (told - told.accum(Max()).along(told)).sink("y")
    graph.source("more", Tile(INT32, 4, 4), [40]).store("z")
    memory = MemoryConfig(beat_bytes=4, bus=BusConfig(bytes=4, burst=1, outstanding=1))
    data = {
        "rows": np.zeros((2, 8, 4, 4)),
        "places": np.arange(16).reshape(2, 8) % 8,
        "kept": np.zeros((32, 4)),
        "more": np.zeros((40, 4, 4)),
    }
    prepared = prepare(Program(graph, data, FabricConfig(outstanding=2, memory=memory)))
    assert both(prepared.netlist, prepared.data) == Status.DEADLOCK


@pytest.mark.slow
def test_many_random_programs() -> None:
    assert check([*range(1176, 1300), *range(2102, 2200)]) >= 200
