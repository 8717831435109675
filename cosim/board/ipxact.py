"""IP-XACT (IEEE 1685-2009, which Vivado reads as well) of a board."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as xml
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cosim.board.constraints import TEXTS
from hw.registers.block import compiled, peakrdl
from hw.registers.wrapper import BoardDesign
from hw.verilog.structure import interfaces_of
from step.host.texts import filled

SPIRIT = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
_MAP = "registers"


def component_text(design: BoardDesign, sources: Sequence[str], megahertz: Sequence[float]) -> str:
    """The component: buses, clocks, resets and interrupt, the map of registers, ports, and the ``sources``."""
    top, buses, interfaces = design.top, interfaces_of(design.top), list[tuple[Any, ...]]()
    level = {"POLARITY": "ACTIVE_LOW" if top.names.low else "ACTIVE_HIGH"}
    for each in buses:
        way, protocol = ("master", design.board.bus.protocol) if each.gives else ("slave", "AXI4LITE")
        reference = ("addressSpaceRef", each.name) if each.gives else ("memoryMapRef", _MAP)
        is_axi = each.kind == "axi"
        kind, told = ("aximm", ({"PROTOCOL": protocol}, *reference)) if is_axi else ("axis", ({}, "", ""))
        interfaces.append((each.name, "interface", kind, way, each.ports, *told))
    signals = list[tuple[str, str, str, str, dict[str, str]]]()
    for (clock, reset), mhz in zip(top.clocks.items(), megahertz, strict=False):
        associated = {"ASSOCIATED_BUSIF": ":".join(each.name for each in buses if top.clock_of(each.name) == clock)}
        associated |= {"ASSOCIATED_RESET": reset, "FREQ_HZ": f"{round(mhz * 1e6)}"}
        signals += [("clock", "CLK", clock, "slave", associated), ("reset", "RST", reset, "slave", level)]
    signals.append(("interrupt", "INTERRUPT", "interrupt", "master", {"SENSITIVITY": "LEVEL_HIGH"}))
    for kind, logical, port, way, parameters in signals:
        interfaces.append((port, "signal", kind, way, {logical: port}, parameters, "", ""))
    return filled(
        TEXTS / "component.xml.in",
        **{"spirit": SPIRIT, "top": top, "bus": design.board.bus, "interfaces": interfaces, "sources": sources},
        ports=top.all_ports,
        masters=[each.name for each in buses if each.kind == "axi" and each.gives],
        memory_maps=_memory_maps(design),
    )


def _memory_maps(design: BoardDesign) -> str:
    """The map of registers, as PeakRDL writes it."""
    ipxact: Any = peakrdl("peakrdl_ipxact", "peakrdl-ipxact")
    (name,) = (each for each in design.files if each.endswith(".rdl"))
    with tempfile.TemporaryDirectory() as made:
        description, written = Path(made) / "map.rdl", Path(made) / "map.xml"
        description.write_text(design.files[name])
        exporter = ipxact.IPXACTExporter(standard=ipxact.Standard.IEEE_1685_2009)
        exporter.export(compiled(description).top, str(written))
        maps = next(xml.parse(written).iter(f"{{{SPIRIT}}}memoryMaps"))
    next(maps.iter(f"{{{SPIRIT}}}name")).text = _MAP
    xml.register_namespace("spirit", SPIRIT)
    xml.indent(maps, level=1)
    return "  " + xml.tostring(maps, encoding="unicode").replace(f' xmlns:spirit="{SPIRIT}"', "").rstrip()
