"""Many ports on few channels of DRAM: the fast model against the clocked reference."""

from __future__ import annotations

from dataclasses import replace

from cases import cases
from clocked import clocked
from programs_of_one_kind import at_random
from test_random import check

from sim_approx.backend import simulate
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
