"""Many ports on few channels of DRAM: both engines, and who is served out of turn."""

from __future__ import annotations

from dataclasses import replace

from cases import cases
from programs_of_one_kind import at_random
from same import both

from sim_approx.backend import simulate
from step.lowering.dram import PRESETS
from step.lowering.netlist import Netlist, lower
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.running.result import Status


def hasty(kind: str, queue: int, out_of_turn: int, burst_bytes: int = 64) -> tuple[Netlist, BoundInputs]:
    """Sixteen loads and eight stores at random addresses, with a refresh every 300 cycles; beats of a burst or four."""
    dram = PRESETS[kind].dram
    assert dram is not None
    dram = replace(dram, trefi=300, trfc=60, queue=queue, out_of_turn=out_of_turn, burst_bytes=burst_bytes)
    program = at_random(12, loads=16, stores=8, config=MemoryConfig(channels=2, interleave=2, dram=dram))
    return lower(program.graph, program.fabric), bind_inputs(program.graph, program.inputs)


@cases(("hbm2", 3, 2, 64), ("ddr4", 8, 30, 64), ("hbm2_2gb", 4, 8, 16))
def test_who_waits_for_how_long(kind: str, queue: int, out_of_turn: int, burst_bytes: int) -> None:
    assert both(*hasty(kind, queue, out_of_turn, burst_bytes)) == Status.FINISHED


def test_how_many_may_pass_out_of_turn() -> None:
    """Cycles that a model had, too, which tried every machine in every cycle."""
    assert [simulate(*hasty("ddr4", 8, most)).ending.cycles for most in (1, 2, 8)] == [944, 847, 857]
