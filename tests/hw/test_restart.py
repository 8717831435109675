"""A fabric that is done, or stopped amid a run, is as new after a cycle of reset."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal
from amaranth.sim import Simulator
from scenarios import SCENARIOS

from cosim.program_data import source_transfers
from hw.fabric import elaborate
from hw.structure import Assembly
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.programs.inputs import bind_inputs

CYCLES = 120
FABRIC = FabricConfig(tile=4, matmul_lanes=8, link_bytes=4)


PLAYED = {
    each.operator: each for each in SCENARIOS if "off_chip" not in each.operator
}  # one of each operator that needs no memory behind it


@pytest.mark.parametrize("operator", PLAYED)
@pytest.mark.parametrize("stopped", [7, 23, CYCLES])
def test_the_second_run_is_like_the_first(operator: str, stopped: int) -> None:
    graph = Graph("again")
    inputs = bind_inputs(graph, PLAYED[operator].build(graph))
    netlist = lower(graph, FABRIC)
    assembly = Assembly(elaborate(netlist).structure)
    sources = source_transfers(netlist, inputs)
    sinks = [node.name for node in netlist.units if node.operator.hands_out]
    reset = Signal()

    def parts(name: str) -> list[Any]:
        ports = (f"{name}_{part}" for part in ("tuser", "tlast", "tdata"))
        return [getattr(assembly, port) for port in ports if hasattr(assembly, port)]

    async def run(context: Any, cycles: int) -> list[tuple[int, str, list[int]]]:
        """What sinks hand out, and when."""
        waiting = {name: list(transfers) for name, transfers in sources.items()}
        seen = []
        for cycle in range(cycles):
            for name, left in waiting.items():
                context.set(getattr(assembly, f"{name}_tvalid"), bool(left))
                transfer = left[0] if left else 0
                for signal in parts(name):
                    context.set(signal, transfer & ((1 << len(signal)) - 1))
                    transfer >>= len(signal)
                if left and context.get(getattr(assembly, f"{name}_tready")):
                    left.pop(0)
            for name in sinks:
                context.set(getattr(assembly, f"{name}_tready"), cycle % 3 > 0)
                if context.get(getattr(assembly, f"{name}_tvalid")):
                    user, *others = (context.get(signal) for signal in parts(name))
                    seen.append((cycle, name, [user, *(others if user & 2 else [])]))
            await context.tick()
        return seen

    async def bench(context: Any) -> None:
        first = await run(context, CYCLES)
        context.set(reset, 1)
        await context.tick()
        context.set(reset, 0)
        await run(context, stopped)
        context.set(reset, 1)
        await context.tick()
        context.set(reset, 0)
        assert await run(context, CYCLES) == first and first

    simulator = Simulator(ResetInserter(reset)(assembly))
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
