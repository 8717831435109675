"""The comment at the head of the top module: what a reader of the Verilog wants to know first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from hw.fabric import ElaboratedFabric
from hw.links.edge import data_bits
from hw.links.layout import TokenFormat, input_formats, output_formats
from hw.memory.port import MEMORY_RESET
from step.language.operator import StreamType

STATUS = """\
//   done                 every store and sink of the program has handled Done
//   fault, fault_unit    code and number (fabric.json) of the first unit that met a fault; 0 without one
"""


def header(fabric: ElaboratedFabric, digest: str, initial_values: bool) -> str:
    """Comment lines with program, fabric, ports and the design's ``digest``; equal designs get equal ones."""
    netlist = fabric.netlist
    parameters = netlist.fabric.to_json()
    parameters["memory.beat_bytes"] = parameters.pop("memory")["beat_bytes"]  # the rest is behind the ports
    settings = ", ".join(f"{name}={value}" for name, value in parameters.items())
    power = "have a value at power-on" if initial_values else "get their value from reset only"
    lines = [
        f"{fabric.structure.name}: the program {netlist.graph.name} as hardware, written by STeP Fabric",
        "",
        *textwrap.wrap(f"Fabric: {settings}", 116, subsequent_indent="  "),
        f"{len(fabric.units)} units, {len(fabric.channels)} channels; registers {power}",
        f"Design: {digest}",
        "",
        "Ports: clk; rst, synchronous and active high; streams are AXI4-Stream with the header of a token as tuser",
        *(f"  {line}" for line in _ports(fabric)),
    ]
    text = "".join(f"// {line}".rstrip() + "\n" for line in lines)
    return text + (STATUS if "done" in fabric.structure.ports else "") + "\n"


def _ports(fabric: ElaboratedFabric) -> Iterator[str]:
    for unit in fabric.units:
        node, operator = unit.node, unit.node.operator
        if operator.given() is not None:
            yield _stream(f"source {node.name}", node.output_types[0], *output_formats(node, fabric.netlist))
        elif operator.hands_out:
            yield _stream(f"sink {node.name}", node.input_types[0], *input_formats(node, fabric.netlist))
    for kind, regions in (("load", fabric.memory.loads), ("store", fabric.memory.stores)):
        for region in regions.values():
            yield f"{f'{kind} {region.node}':<20} {region.beats_per_tile} beats a tile, from beat {region.base} on"
    if MEMORY_RESET in fabric.structure.ports:
        yield f"{MEMORY_RESET:<20} memory forgets what it was asked for: at power-on, and wherever it is reset too"


def _stream(what: str, stream: StreamType, format: TokenFormat) -> str:
    return f"{what:<20} {data_bits(format)} bits, {format.cycles} transfers a value, {stream}"
