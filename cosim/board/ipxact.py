"""IP-XACT (IEEE 1685-2009, which Vivado reads as well) of a board."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as xml
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hw.registers.block import AXIL, compiled, peakrdl
from hw.registers.wrapper import BoardDesign
from hw.verilog.structure import Interface, interfaces_of

SPIRIT = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
_SCHEMA = "http://www.w3.org/2001/XMLSchema-instance"
_MAP = "registers"

Content = dict[str, Any]


class Attributes(dict[str, str]):
    """Attributes of an element without content."""


def component_text(design: BoardDesign, sources: Sequence[str], mhz: float) -> str:
    """The component: buses, clock, reset and interrupt, the map of registers, ports, and the ``sources``."""
    xml.register_namespace("spirit", SPIRIT)
    top, bus = design.top, design.board.bus
    buses = interfaces_of(top)
    clock = {"ASSOCIATED_BUSIF": ":".join(each.name for each in buses), "ASSOCIATED_RESET": "rst"}
    signals = [
        _signal("clock", "clk", {**clock, "FREQ_HZ": f"{round(mhz * 1e6)}"}, "slave"),
        _signal("reset", "rst", {"POLARITY": "ACTIVE_HIGH"}, "slave"),
        _signal("interrupt", "interrupt", {"SENSITIVITY": "LEVEL_HIGH"}, "master"),
    ]
    space = {"range": f"{1 << bus.address_bits}", "width": f"{8 * bus.bytes}"}
    view = {"name": "rtl", "envIdentifier": ":*:", "language": "SystemVerilog", "modelName": top.name}
    ports = {"clk": ("input", 1), "rst": ("input", 1), **top.ports}
    content: Content = {
        **{"vendor": "step", "library": "board", "name": top.name, "version": "1.0"},
        "busInterfaces": {"busInterface": [*map(_bus, buses), *signals]},
        "addressSpaces": {
            "addressSpace": [{"name": each.name, **space} for each in buses if each.kind == "axi" and each.gives]
        },
        "memoryMaps": _memory_maps(design),
        "model": {
            "views": {"view": {**view, "fileSetRef": {"localName": "rtl"}}},
            "ports": {"port": [_port(name, *each) for name, each in ports.items()]},
        },
        "fileSets": {
            "fileSet": {
                "name": "rtl",
                "file": [{"name": f"../{each}", "fileType": "systemVerilogSource"} for each in sources],
            }
        },
        "description": f"{top.name.removesuffix('_board')} with AXI4 masters and AXI4-Lite registers",
    }
    root = xml.Element(_tag("component"), {f"{{{_SCHEMA}}}schemaLocation": f"{SPIRIT} {SPIRIT}/index.xsd"})
    _fill(root, content)
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _tag(name: str) -> str:
    return f"{{{SPIRIT}}}{name}"


def _fill(parent: xml.Element, content: Content) -> None:
    """Enter ``content`` below ``parent``: by its tag a text, what is in the element, attributes, or several of them."""
    for tag, several in content.items():
        for each in several if isinstance(several, list) else [several]:
            if isinstance(each, xml.Element):
                parent.append(each)
                continue
            element = xml.SubElement(parent, _tag(tag))
            if isinstance(each, str):
                element.text = each
            elif isinstance(each, Attributes):
                element.attrib.update({_tag(name): value for name, value in each.items()})
            else:
                _fill(element, each)


def _interface(name: str, kind: str, mode: Content, ports: Mapping[str, str], parameters: Mapping[str, str]) -> Content:
    """A bus interface of one of AMD's types, which stand for those of AXI everywhere."""
    library, _, short = kind.partition("/")
    reference = {"vendor": "xilinx.com", "library": library, "name": short, "version": "1.0"}
    pairs = [{"logicalPort": {"name": one}, "physicalPort": {"name": other}} for one, other in ports.items()]
    values = [{"name": each, "value": value} for each, value in parameters.items()]
    return {
        "name": name,
        "busType": Attributes(reference),
        "abstractionType": Attributes(reference, name=f"{short}_rtl"),
        **mode,
        "portMaps": {"portMap": pairs},
        **({"parameters": {"parameter": values}} if values else {}),
    }


def _bus(bus: Interface) -> Content:
    mode = "master" if bus.gives else "slave"
    if bus.kind != "axi":
        return _interface(bus.name, "interface/axis", {mode: {}}, bus.ports, {})
    what, name = ("addressSpaceRef", bus.name) if bus.gives else ("memoryMapRef", _MAP)
    protocol = "AXI4LITE" if bus.name + "_" == AXIL else "AXI4"
    space = {what: Attributes({what: name})}
    return _interface(bus.name, "interface/aximm", {mode: space}, bus.ports, {"PROTOCOL": protocol})


def _signal(kind: str, port: str, parameters: Mapping[str, str], mode: str) -> Content:
    return _interface(port, f"signal/{kind}", {mode: {}}, {port.upper(): port}, parameters)


def _port(name: str, way: str, width: int) -> Content:
    vector = {"vector": {"left": f"{width - 1}", "right": "0"}} if width > 1 else {}
    return {"name": name, "wire": {"direction": way.removesuffix("put"), **vector}}


def _memory_maps(design: BoardDesign) -> xml.Element:
    """The map of registers, as PeakRDL writes it."""
    ipxact: Any = peakrdl("peakrdl_ipxact", "peakrdl-ipxact")
    (name,) = (each for each in design.files if each.endswith(".rdl"))
    with tempfile.TemporaryDirectory() as made:
        description, written = Path(made) / "map.rdl", Path(made) / "map.xml"
        description.write_text(design.files[name])
        exporter = ipxact.IPXACTExporter(standard=ipxact.Standard.IEEE_1685_2009)
        exporter.export(compiled(description).top, str(written))
        maps = next(xml.parse(written).iter(_tag("memoryMaps")))
    next(maps.iter(_tag("name"))).text = _MAP
    return maps
