"""The README of a board's folder."""

from __future__ import annotations

from collections.abc import Sequence

from cosim.board.constraints import TEXTS
from cosim.board.tables import PlacedImage, Tables, masters_of
from hw.verilog.structure import interfaces_of
from step.host.texts import filled
from step.lowering.arrival import arrival


def readme_text(
    tables: Tables, places: Sequence[PlacedImage], core: str, megahertz: Sequence[float], package: str
) -> str:
    """The README, with the ports, the images and the names of this board."""
    top, board = tables.design.top, tables.design.board
    kinds = {("axi", True): f"{board.bus.protocol} master", ("axi", False): "AXI4-Lite slave"}
    kinds |= {("axis", True): "AXI4-Stream out", ("axis", False): "AXI4-Stream in"}
    interfaces = []
    for each in interfaces_of(top):
        data = each.ports.get("WDATA") or each.ports.get("TDATA")
        interfaces.append((each.name, kinds[each.kind, each.gives], top.ports[data][1] if data else 0))
    return filled(
        TEXTS / "README.md.in",
        **{"top": top.name, "name": tables.name, "program": tables.netlist.graph.name},
        **{"core": core, "mhz": megahertz[0]},
        **{"units": len(tables.netlist.units), "masters": masters_of(board.bus), "why": arrival(tables.netlist)},
        **{"interfaces": interfaces, "board": board, "images": places},
        **{"package": package, "clocks": top.clocks, "megahertz": megahertz, "names": top.names},
        register_bits=top.ports[f"{top.names.slave}_awaddr"][1],
    )
