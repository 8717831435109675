"""The README of a board's folder."""

from __future__ import annotations

from collections.abc import Sequence

from cosim.board.constraints import TEXTS
from cosim.board.tables import PlacedImage, Tables, masters_of
from hw.verilog.structure import interfaces_of
from step.host.texts import filled
from step.lowering.arrival import arrival


def readme_text(tables: Tables, places: Sequence[PlacedImage], core: str, mhz: float) -> str:
    """The README, with the ports, the images and the names of this board."""
    design, top = tables.design, tables.design.top
    board, why = design.board, arrival(tables.netlist)
    bus = board.bus
    interfaces = []
    for each in interfaces_of(top):
        kind = ("AXI4 master" if each.gives else "AXI4-Lite slave") if each.kind == "axi" else "AXI4-Stream"
        if each.kind == "axis":
            kind += " out" if each.gives else " in"
        data = next((port for name, port in each.ports.items() if name in ("WDATA", "TDATA")), None)
        interfaces.append(f"| `{each.name}_` | {kind} | {top.ports[data][1] if data else 0} |")
    return filled(
        TEXTS / "README.md.in",
        top=top.name,
        name=tables.name,
        program=tables.netlist.graph.name,
        units=len(tables.netlist.units),
        masters=masters_of(bus),
        core=core,
        hint=f"{why}: in another order, other data than that of `data/` is right, too.\n\n" if why else "",
        mhz=f"{mhz:g}",
        interfaces=interfaces,
        beat=board.beat_bytes,
        images=[f"| `{each.name}` | {each.address:#x} | {each.bytes:,} |" for each in places],
        bits=8 * bus.bytes,
        address=bus.address_bits,
        register_bits=top.ports["s_axil_awaddr"][1],
    )
