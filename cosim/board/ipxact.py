"""IP-XACT (IEEE 1685-2009, which Vivado reads as well) of a board."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as xml
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hw.registers.block import AXIL, compiled, peakrdl
from hw.registers.wrapper import BoardDesign
from hw.verilog.interfaces import Interface, interfaces_of

SPIRIT = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
_SCHEMA = "http://www.w3.org/2001/XMLSchema-instance"
_CLOCK, _RESET, _INTERRUPT = (f"signal/{each}" for each in ("clock", "reset", "interrupt"))
_MAP = "registers"


def component_text(design: BoardDesign, sources: Sequence[str], mhz: float) -> str:
    """The component: buses, clock, reset and interrupt, the map of registers, ports, and the ``sources``."""
    xml.register_namespace("spirit", SPIRIT)
    top = design.top
    root = xml.Element(_tag("component"), {f"{{{_SCHEMA}}}schemaLocation": f"{SPIRIT} {SPIRIT}/index.xsd"})
    _texts(root, {"vendor": "step", "library": "board", "name": top.name, "version": "1.0"})
    buses = interfaces_of(top)
    listed = xml.SubElement(root, _tag("busInterfaces"))
    for bus in buses:
        _bus(listed, bus)
    associated = ":".join(each.name for each in buses)
    parameters = {"ASSOCIATED_BUSIF": associated, "ASSOCIATED_RESET": "rst", "FREQ_HZ": f"{round(mhz * 1e6)}"}
    _signal(listed, _CLOCK, "clk", "CLK", parameters, given=True)
    _signal(listed, _RESET, "rst", "RST", {"POLARITY": "ACTIVE_HIGH"}, given=True)
    _signal(listed, _INTERRUPT, "interrupt", "INTERRUPT", {"SENSITIVITY": "LEVEL_HIGH"}, given=False)
    spaces = xml.SubElement(root, _tag("addressSpaces"))
    bits = design.board.bus.address_bits
    for bus in buses:
        if bus.kind == "axi" and bus.gives:
            _texts(
                xml.SubElement(spaces, _tag("addressSpace")),
                {"name": bus.name, "range": f"{1 << bits}", "width": f"{8 * design.board.bus.bytes}"},
            )
    root.append(_memory_maps(design))
    _model(root, design)
    files = xml.SubElement(xml.SubElement(root, _tag("fileSets")), _tag("fileSet"))
    _texts(files, {"name": "rtl"})
    for source in sources:
        _texts(xml.SubElement(files, _tag("file")), {"name": f"../{source}", "fileType": "systemVerilogSource"})
    _texts(root, {"description": f"{top.name.removesuffix('_board')} with AXI4 masters and AXI4-Lite registers"})
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _tag(name: str) -> str:
    return f"{{{SPIRIT}}}{name}"


def _texts(parent: xml.Element, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        xml.SubElement(parent, _tag(name)).text = text


def _of_type(parent: xml.Element, name: str, kind: str) -> xml.Element:
    """A bus interface of one of AMD's types, which stand for those of AXI everywhere."""
    library, _, short = kind.partition("/")
    interface = xml.SubElement(parent, _tag("busInterface"))
    _texts(interface, {"name": name})
    for tag, ending in (("busType", ""), ("abstractionType", "_rtl")):
        reference = {"vendor": "xilinx.com", "library": library, "name": f"{short}{ending}", "version": "1.0"}
        xml.SubElement(interface, _tag(tag), {_tag(each): text for each, text in reference.items()})
    return interface


def _maps(interface: xml.Element, ports: Mapping[str, str]) -> None:
    listed = xml.SubElement(interface, _tag("portMaps"))
    for logical, physical in ports.items():
        entry = xml.SubElement(listed, _tag("portMap"))
        for tag, name in (("logicalPort", logical), ("physicalPort", physical)):
            _texts(xml.SubElement(entry, _tag(tag)), {"name": name})


def _parameters(interface: xml.Element, parameters: Mapping[str, str]) -> None:
    listed = xml.SubElement(interface, _tag("parameters"))
    for name, value in parameters.items():
        _texts(xml.SubElement(listed, _tag("parameter")), {"name": name, "value": value})


def _bus(parent: xml.Element, bus: Interface) -> None:
    interface = _of_type(parent, bus.name, "interface/aximm" if bus.kind == "axi" else "interface/axis")
    mode = xml.SubElement(interface, _tag("master" if bus.gives else "slave"))
    if bus.kind == "axi":
        what, name = ("addressSpaceRef", bus.name) if bus.gives else ("memoryMapRef", _MAP)
        xml.SubElement(mode, _tag(what), {_tag(what): name})
    _maps(interface, bus.ports)
    if bus.kind == "axi":
        _parameters(interface, {"PROTOCOL": "AXI4LITE" if bus.name + "_" == AXIL else "AXI4"})


def _signal(
    parent: xml.Element, kind: str, port: str, logical: str, parameters: Mapping[str, str], *, given: bool
) -> None:
    interface = _of_type(parent, port, kind)
    xml.SubElement(interface, _tag("slave" if given else "master"))
    _maps(interface, {logical: port})
    _parameters(interface, parameters)


def _memory_maps(design: BoardDesign) -> xml.Element:
    """The map of registers, as PeakRDL writes it."""
    ipxact: Any = peakrdl("peakrdl_ipxact", "peakrdl-ipxact")
    (name,) = (each for each in design.files if each.endswith(".rdl"))
    with tempfile.TemporaryDirectory() as made:
        description, written = Path(made) / "map.rdl", Path(made) / "map.xml"
        description.write_text(design.files[name])
        exporter = ipxact.IPXACTExporter(standard=ipxact.Standard.IEEE_1685_2009)
        exporter.export(compiled(description).top, str(written))
        maps = xml.parse(written).getroot().find(_tag("memoryMaps"))
    assert maps is not None
    first = maps.find(f"{_tag('memoryMap')}/{_tag('name')}")
    assert first is not None
    first.text = _MAP
    return maps


def _model(root: xml.Element, design: BoardDesign) -> None:
    model = xml.SubElement(root, _tag("model"))
    view = xml.SubElement(xml.SubElement(model, _tag("views")), _tag("view"))
    _texts(view, {"name": "rtl", "envIdentifier": ":*:", "language": "SystemVerilog", "modelName": design.top.name})
    _texts(xml.SubElement(view, _tag("fileSetRef")), {"localName": "rtl"})
    listed = xml.SubElement(model, _tag("ports"))
    for name, (way, width) in {"clk": ("input", 1), "rst": ("input", 1), **design.top.ports}.items():
        port = xml.SubElement(listed, _tag("port"))
        _texts(port, {"name": name})
        wire = xml.SubElement(port, _tag("wire"))
        _texts(wire, {"direction": {"input": "in", "output": "out"}[way]})
        if width > 1:
            _texts(xml.SubElement(wire, _tag("vector")), {"left": f"{width - 1}", "right": "0"})
