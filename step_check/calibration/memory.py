"""Interval and latency of a plain off-chip memory: one load that reads the same beat again and again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cosim.backend import run_rtl
from sim_approx import backend as approx
from sim_approx.calibration.entries import PlainMemory
from step.errors import SimulationError
from step.host.progress import Progress
from step.language.dtypes import INT8, UINT32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist
from step.lowering.off_chip import MemoryConfig
from step.programs.prepare import prepare
from step.programs.program import Program
from step_check.calibration.measure import WARM_UP, usual
from step_check.calibration.passage import Events, distance, passage

READS = 120


def measure_memory(fabric: FabricConfig, rtl: str, date: str, progress: Progress) -> PlainMemory:
    """What the memory of ``fabric`` does, behind a port that asks for a beat in every cycle."""
    memory = fabric.memory
    in_flight = -(-(memory.latency + 16) // memory.interval) + 4
    program = _same_beat(replace(fabric, outstanding=in_flight, memory=replace(memory, dram=None)))
    prepared = prepare(program)
    exact = run_rtl(prepared, optimize=False, progress=progress).result.events
    assert exact is not None
    netlist = prepared.netlist
    here = passage(netlist, netlist.graph.nodes["load"], exact)
    interval, spread = usual(np.diff(here.firings)[WARM_UP:])
    # How long a load takes around its memory is what it takes with a memory that needs one cycle, without that.
    around = _modelled(netlist, replace(memory, latency=1, interval=interval))
    trip = passage(netlist, netlist.graph.nodes["load"], around)
    latency = int(here.latencies[0] - trip.latencies[0]) + 1
    model = _modelled(netlist, replace(memory, latency=latency, interval=interval))
    residual = distance(netlist, netlist.graph.nodes["load"], exact, model)
    if residual is None:
        raise SimulationError("the fast model reads other beats from memory than the RTL")
    return PlainMemory(memory.timing(), interval, latency, READS - 1 - WARM_UP, spread, residual, rtl, date)


def _same_beat(fabric: FabricConfig) -> Program:
    graph = Graph("memory")
    tensor = graph.tensor("x", (1, 1), INT8)
    graph.source("address", Tile(UINT32), [READS]).load_random(tensor, tile=(1, 1), name="load").sink("y")
    return Program(graph, {"x": [[1]], "address": [0] * READS}, fabric)


def _modelled(netlist: Netlist, memory: MemoryConfig) -> Events:
    program = _same_beat(replace(netlist.fabric, memory=memory))
    events = approx.run(prepare(program), events=True).events
    assert events is not None
    return events
