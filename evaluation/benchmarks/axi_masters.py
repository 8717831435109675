"""Masters of AXI4: share of the bus, area, clock (docs/axi.md).

`python benchmarks/axi_masters.py bandwidth`: tiles of 64 B x 16 in front of memory with a latency of 100 cycles.
`python benchmarks/axi_masters.py area`: on an ECP5, with three seeds of place and route.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from cosim.synthesis.families.ecp5 import Ecp5
from cosim.synthesis.flow import Flow
from cosim.synthesis.jobs import Stop
from hw.axi.ports import Lanes, Port
from hw.axi.read_master import ReadMaster
from hw.axi.store_limit import StoreLimit
from hw.axi.write_master import WriteMaster
from hw.verilog.convert import ModuleLibrary
from hw.verilog.modules import Parametric, flat_ports
from hw.verilog.structure import Instance, Structure, port_widths
from step.lowering.bus import BusConfig

LATENCY, CYCLES = 100, 4000
SEEDS = 3


def ports(count: int) -> tuple[Port, ...]:
    """Ports with tiles of 16 beats."""
    return tuple(Port(at, 1 << 16 * at, 16, acknowledged=True) for at in range(count))


def share(master: Any, count: int, *, writes: bool) -> float:
    """Share of the cycles in which data is on the bus, once the first is."""
    moved: list[int] = []

    async def bench(context: Any) -> None:
        due: deque[int] = deque()  # cycles in which a burst's answer may begin
        offered, beat, tiles, unanswered = [0] * count, [0] * count, [0] * count, 0
        names = ["aw", "w", "b"] if writes else ["ar", "r"]
        context.set(getattr(master, f"{names[0]}ready"), 1)
        if writes:
            context.set(master.wready, 1)
        for cycle in range(CYCLES):
            for at in range(count):
                stream = getattr(master, f"store{at}" if writes else f"request{at}")
                context.set(stream.valid, 1)
                context.set(stream.payload, (1 << 16 * at) + 16 * tiles[at] + beat[at])
            comes = bool(due) and due[0] <= cycle
            if writes:
                context.set(master.bvalid, comes)
            else:
                context.set(master.rvalid, comes)
                context.set(master.rlast, unanswered == 15)
            if comes and writes and context.get(master.bready):
                due.popleft()
            if not writes and comes and context.get(master.rready):
                moved.append(cycle)
                unanswered = (unanswered + 1) % 16
                if unanswered == 0:
                    due.popleft()
            if writes and context.get(master.wvalid):
                moved.append(cycle)
                if context.get(master.wlast):
                    due.append(cycle + LATENCY)
            if not writes and context.get(master.arvalid):
                due.append(max(cycle + LATENCY, 0))
            for at in range(count):
                stream = getattr(master, f"store{at}" if writes else f"request{at}")
                if context.get(stream.ready):
                    beat[at] = (beat[at] + 1) % 16 if writes else 0
                    tiles[at] += not beat[at]
            await context.tick()
        del offered

    simulator = Simulator(master)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return len(moved) / (CYCLES - moved[0])


def alone(master: Parametric) -> Structure:
    """A design of the master only."""
    structure = Structure(f"alone_{master.module_name}")
    connections: dict[str, str | int] = {}
    for name, member, _ in flat_ports(master):
        connections[name] = name
        structure.ports[name] = "input" if member.flow is In else "output", port_widths(master)[name]
    structure.instances.append(Instance("master", master, connections, "the master"))
    return structure


def main() -> None:
    """The measures that are asked for, as a table."""
    lanes = Lanes(64, BusConfig())
    if sys.argv[1:] == ["bandwidth"]:
        for count in (1, 4):
            print(f"{count} loads: {100 * share(ReadMaster(ports(count), lanes), count, writes=False):.1f} %")
            print(f"{count} stores: {100 * share(WriteMaster(ports(count), lanes), count, writes=True):.1f} %")
        return
    family = Ecp5(seeds=SEEDS)
    identity = family.check()
    parts = {
        "reads of 4 ports": ReadMaster(ports(4), lanes),
        "writes of 2 ports": WriteMaster(ports(2), lanes),
        "writes of 1 port": WriteMaster(ports(1), lanes),
        "the limit of a store": StoreLimit(16, lanes.beat),
    }
    for name, master in parts.items():
        structure, library = alone(master), ModuleLibrary()
        library.require(master)
        flow, stop = Flow(library.texts(), identity, family), Stop()
        print(f"{name}:", flow.area(master.module_name, stop), flush=True)
        netlist = flow.netlist(structure, stop)
        print("  MHz:", [round(netlist.time(run, stop).mhz, 1) for run in family.runs], flush=True)


if __name__ == "__main__":
    main()
