"""Many ports: on few channels of DRAM against the clocked reference, and of one operator on both engines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from cases import cases
from clocked import clocked
from programs_of_one_kind import at_random
from test_random import check

from sim_approx.backend import run, simulate
from step import FP32, FabricConfig, Graph, Tile
from step.lowering.dram import PRESETS
from step.lowering.netlist import lower
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import bind_inputs


@cases(("hbm2", 3, 2, 64), ("ddr4", 8, 30, 64), ("hbm2_2gb", 4, 8, 16))
def test_who_waits_for_how_long(kind: str, queue: int, out_of_turn: int, burst_bytes: int) -> None:
    """Sixteen loads and eight stores at random addresses, with a refresh every 300 cycles; beats of a burst or four."""
    dram = PRESETS[kind].dram
    assert dram is not None
    hasty = replace(dram, trefi=300, trfc=60, queue=queue, out_of_turn=out_of_turn, burst_bytes=burst_bytes)
    config = MemoryConfig(channels=2, interleave=2, dram=hasty)
    program = at_random(12, loads=16, stores=8, config=config)
    netlist = lower(program.graph, program.fabric)
    data = bind_inputs(program.graph, program.inputs)
    check(simulate(netlist, data, events=True), clocked(netlist, data, None))


@cases(5, 31, 32, 35)
def test_any_of_many_ports_has_the_rows(place: int) -> None:
    """Beyond its 32 first operands an operator asks Python how many rows its result has."""
    graph, tiles = Graph("wide"), [Tile(FP32)] * 36
    tiles[place] = Tile(FP32, graph.symbol("rows", ragged=True), 4)
    inputs = {f"x{at}": [np.ones((1, 1))] * 6 for at in range(len(tiles))}
    inputs[f"x{place}"] = [np.ones((rows, 4)) for rows in (1, 5, 2, 7, 1, 3)]
    first, *others = (graph.source(f"x{at}", tile, [6]) for at, tile in enumerate(tiles))
    first.zip(*others).sink("y")
    fabric = FabricConfig(dynamic_rows=8, link_bytes=4)
    assert run(graph, inputs, fabric, engine="compiled").cycles == run(graph, inputs, fabric, engine="python").cycles
