"""DMA of streams: words a cycle, area, clock (docs/axi.md).

`python -m benchmarks.stream_dma rate`: words of 64 bytes in beats of 64, behind a master and memory with a latency of
100 cycles. `python -m benchmarks.stream_dma area`, and `clock`: on an ECP5, the latter with three seeds of place and
route.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

import numpy as np
from amaranth.hdl import Elaboratable, Module
from amaranth.sim import Simulator

from benchmarks.axi_masters import alone
from cosim.synthesis.families.ecp5 import Ecp5
from cosim.synthesis.flow import Flow
from cosim.synthesis.jobs import Stop
from hw.axi.ports import Lanes, Port
from hw.axi.read_master import ReadMaster
from hw.axi.write_master import WriteMaster
from hw.dma.images import source_images
from hw.dma.sink import SinkDma
from hw.dma.source import SourceDma
from hw.links.layout import input_formats, output_formats
from hw.links.packing import pack_transfers
from hw.verilog.convert import ModuleLibrary
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.bus import BusConfig
from step.lowering.dma import LIST, REQUEST, VALUES, sink_plan, source_plan
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import bind_inputs

LATENCY, SEEDS = 100, 3
PLACES = {VALUES: 0, LIST: 1 << 30}
"""Byte addresses of the parts."""


def program(ragged: bool, link: int = 64, beat: int = 64) -> Netlist:
    """A source of tiles of 16 words, and a sink of it."""
    graph = Graph("fed")
    outer = graph.symbol("D0", ragged=True) if ragged else 16
    graph.source("x", Tile(BF16, 8, link), [outer, 4]).sink("y")
    return lower(graph, FabricConfig(link_bytes=link, memory=MemoryConfig(beat_bytes=beat)))


def masters(dma: Any, kind: Any, parts: tuple[str, ...], beat: int) -> tuple[Elaboratable, Any]:
    """``dma`` behind a master, together in one design; and the master."""
    ports = tuple(Port(at, 0, REQUEST) for at in range(len(parts)))
    top, master = Module(), kind(ports, Lanes(beat, BusConfig(bytes=beat)))
    top.submodules.dma, top.submodules.master = dma, master
    for at, part in enumerate(parts):
        top.d.comb += getattr(master, f"base{at}").eq(PLACES[part])
        if kind is ReadMaster:
            asks, asked = getattr(dma, f"{part}_request"), getattr(master, f"request{at}")
            told, tells = getattr(dma, f"{part}_response"), getattr(master, f"response{at}")
            top.d.comb += [told.payload.eq(tells.payload), told.valid.eq(tells.valid)]
        else:
            asks, asked = getattr(dma, f"{part}_store"), getattr(master, f"store{at}")
            top.d.comb += getattr(dma, f"{part}_limit").eq(1 << 31)
        top.d.comb += [asked.payload.eq(asks.payload), asked.valid.eq(asks.valid), asks.ready.eq(asked.ready)]
    return top, master


def source_rate(netlist: Netlist, ahead: int) -> float:
    """Transfers a cycle that a source gets, from the first to the last one."""
    node, beat = netlist.graph.nodes["x"], netlist.fabric.memory.beat_bytes
    (format,), plan = output_formats(node, netlist), source_plan(netlist, node)
    tokens = bind_inputs(netlist.graph, {"x": np.ones((16, 4, 8, netlist.fabric.link_bytes))}).streams["x"]
    images = source_images(tokens, node.output_types[0].element, plan, format)
    dma, moved = SourceDma(plan, format, ahead), list[int]()
    top, master = masters(dma, ReadMaster, plan.parts, beat)

    async def bench(context: Any) -> None:
        due: deque[tuple[int, int, bool]] = deque()  # cycle, address, last
        context.set(master.arready, 1)
        context.set(dma.o.tready, 1)
        ended, cycle = False, 0
        while not ended:
            comes = bool(due) and due[0][0] <= cycle
            context.set(master.rvalid, comes)
            if comes:
                part = VALUES if due[0][1] < PLACES[LIST] else LIST
                at = due[0][1] - PLACES[part]
                context.set(master.rdata, int.from_bytes(images[part][at : at + beat], "little"))
                context.set(master.rlast, due[0][2])
            if comes and context.get(master.rready):
                due.popleft()
            if context.get(master.arvalid):
                length, address = context.get(master.arlen) + 1, context.get(master.araddr)
                due.extend((cycle + LATENCY, address + beat * at, at == length - 1) for at in range(length))
            if context.get(dma.o.tvalid):
                moved.append(cycle)
                ended = bool(context.get(dma.o.tuser) & 1)
            await context.tick()
            cycle += 1

    _simulate(top, bench)
    return len(moved) / (moved[-1] - moved[0] + 1)


def sink_rate(netlist: Netlist) -> float:
    """Transfers a cycle that a sink takes."""
    node, beat = netlist.graph.nodes["y"], netlist.fabric.memory.beat_bytes
    (format,), plan = input_formats(node, netlist), sink_plan(netlist, node)
    tokens = bind_inputs(netlist.graph, {"x": np.ones((16, 4, 8, netlist.fabric.link_bytes))}).streams["x"]
    transfers = [each for token in tokens for each in pack_transfers(token, node.inputs[0].element, format)]
    dma, moved = SinkDma(plan, format), list[int]()
    top, master = masters(dma, WriteMaster, plan.parts, beat)

    async def bench(context: Any) -> None:
        due: deque[int] = deque()
        context.set(master.awready, 1)
        context.set(master.wready, 1)
        mask, left, cycle = (1 << format.header_bits) - 1, deque(transfers), 0
        while left:
            context.set(dma.i.tvalid, 1)
            context.set(dma.i.tuser, left[0] & mask)
            context.set(dma.i.tlast, left[0] >> format.header_bits & 1)
            context.set(dma.i.tdata, left[0] >> format.header_bits + 1)
            comes = bool(due) and due[0] <= cycle
            context.set(master.bvalid, comes)
            if comes and context.get(master.bready):
                due.popleft()
            if context.get(master.wvalid) and context.get(master.wlast):
                due.append(cycle + LATENCY)
            if context.get(dma.i.tready):
                left.popleft()
                moved.append(cycle)
            await context.tick()
            cycle += 1

    _simulate(top, bench)
    return len(moved) / (moved[-1] - moved[0] + 1)


def _simulate(top: Elaboratable, bench: Any) -> None:
    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def synthesised(*beats: int, clock: bool) -> None:
    """Area, or clock in MHz, of a source and of a sink with lists, whose words are beats of so many bytes."""
    family, stop = Ecp5(seeds=SEEDS), Stop()
    identity = family.check()
    for beat in beats:
        netlist = program(ragged=True, link=beat, beat=beat)
        x, y = netlist.graph.nodes["x"], netlist.graph.nodes["y"]
        plan, (format,) = source_plan(netlist, x), output_formats(x, netlist)
        sources = {f"source, ahead {ahead}": SourceDma(plan, format, ahead) for ahead in (32, 128)}
        sink = SinkDma(sink_plan(netlist, y), *input_formats(y, netlist))
        for name, dma in {**sources, "sink": sink}.items():
            library = ModuleLibrary()
            library.require(dma)
            flow = Flow(library.texts(), identity, family)
            if clock:
                timed = flow.netlist(alone(dma), stop)
                found: Any = [round(timed.time(run, stop).mhz, 1) for run in family.runs]
            else:
                found = flow.area(dma.module_name, stop)
            print(f"{name}, {beat} bytes:", found, flush=True)


def main() -> None:
    """The measures that are asked for."""
    if sys.argv[1:] != ["rate"]:
        return synthesised(64, 16, clock=sys.argv[1:] == ["clock"])
    for ragged in (False, True):
        netlist, what = program(ragged), "ragged" if ragged else "static"
        for ahead in (32, 64, 128):
            print(f"{what} source, {ahead} beats ahead: {source_rate(netlist, ahead):.2f} words a cycle")
        print(f"sink of the {what} source: {sink_rate(netlist):.2f} words a cycle")


if __name__ == "__main__":
    main()
