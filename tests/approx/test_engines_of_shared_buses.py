"""Memory ports that share AXI4 buses, in the fast model: both engines, on random programs and at the ends of runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from same import both

from step.lowering.bus import BusConfig
from step.programs.prepare import prepare
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


@pytest.mark.slow
def test_many_random_programs() -> None:
    assert check([*range(1176, 1300), *range(2102, 2200)]) >= 200
