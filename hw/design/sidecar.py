"""The sidecar: what stands beside the Verilog of a fabric, so that others can drive it without reading that."""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hw.fabric import ElaboratedFabric, PlacedChannel, PlacedScratchpad, PlacedUnit
from hw.links.layout import TokenFormat, data_bits, input_formats, output_formats
from hw.memory.port import MEMORY_RESET
from hw.verilog.convert import tool_versions
from hw.verilog.file_lists import LISTS
from step.language.graph import Node
from step.language.operator import Access, StreamType
from step.lowering.memory import Region, Share


def sidecar(fabric: ElaboratedFabric, files: Mapping[str, str], hierarchical: Sequence[str]) -> dict[str, Any]:
    """Plain data that names everything in ``files`` (name to text) of ``fabric``; its ``hash`` is a digest of all."""
    netlist, memory = fabric.netlist, fabric.memory
    given = [node for node in netlist.units if node.operator.given() is not None]
    handed_out = [node for node in netlist.units if node.operator.hands_out]
    digest = hashlib.sha256()
    for name, text in sorted(files.items()):
        digest.update(f"{name}\n{len(text)}\n{text}".encode())
    plain: dict[str, Any] = {
        "format": "step-sidecar-3",
        "module": fabric.structure.name,
        "sources": [_stream(each, each.output_types[0], *output_formats(each, netlist)) for each in given],
        "sinks": [_stream(each, each.input_types[0], *input_formats(each, netlist)) for each in handed_out],
        "reads": [
            _region(fabric, memory.loads[node.name], access)
            for node in netlist.units
            if (access := node.operator.reads(node)) is not None
        ],
        "writes": [
            _region(fabric, memory.stores[node.name], access) | {"acknowledged": access.acknowledged}
            for node in netlist.units
            if (access := node.operator.writes(node)) is not None
        ],
        "channels": [_channel(each) for each in fabric.channels],
        "units": [{"index": at, **_unit(each)} for at, each in enumerate(fabric.units)],
        "buffers": [_buffers(pad, share) for pad in fabric.scratchpads for share in pad.scratchpad.shares],
        "memory": {**netlist.fabric.memory.to_json(), "beats_total": memory.beats},
        "settling_cycles": fabric.settling_cycles,
        "fabric": netlist.fabric.to_json(),
        "files": [name for name in files if name.endswith(".sv")],
        "waivers": [name for name in files if name.endswith(".vlt")],
        "lists": list(LISTS),
        "cpp": [name for name in files if name.endswith(".cpp")],
        "hierarchical": list(hierarchical),
        "versions": tool_versions(),
    }
    digest.update(json.dumps(plain).encode())
    return {**plain, "hash": digest.hexdigest()}


def _channel(channel: PlacedChannel) -> dict[str, Any]:
    edge, format = channel.edge, channel.format
    ends = {"wires": channel.stem, "producer": list(edge.producer), "consumer": list(edge.consumer)}
    bits = {"header_bits": format.header.size, "word_bits": format.word_bits, "beats": format.beats}
    slots = {"rank": edge.type.rank, "depth": edge.depth, "capacity": channel.capacity}
    return {"index": edge.index, "name": edge.name, **ends, **bits, **slots, "element": str(edge.type.element)}


def _unit(unit: PlacedUnit) -> dict[str, str]:
    node = unit.node
    told = {"name": node.name, "operator": node.operator.name, "module": unit.component.module_name}
    return {**told, "instance": unit.instance, "source": str(node.location)}


def _buffers(pad: PlacedScratchpad, share: Share) -> dict[str, Any]:
    ends = {"name": share.filler.name, "reader": share.reader.name}
    sizes = {"pages": share.pages, "slots": share.slots, "beats": share.words, "element": str(share.buffer)}
    return {**ends, "scratchpad": pad.scratchpad.index, "instance": pad.stem, **sizes}


def _stream(node: Node, stream: StreamType, format: TokenFormat) -> dict[str, Any]:
    """A source or a sink."""
    bits = {"data_bits": data_bits(format), "user_bits": format.header_bits, "beats": format.cycles}
    return {"name": node.name, "port": node.name, **bits, "rank": stream.rank, "element": str(stream.element)}


def _region(fabric: ElaboratedFabric, region: Region, access: Access) -> dict[str, Any]:
    """A memory port: what lies where, in beats; strides are those of the ``grid`` of tiles."""
    graph = fabric.netlist.graph
    rows, cols = access.tile.shape
    shape, grid = None, None if access.tiles is None else [access.tiles]
    if access.tensor is not None:
        *outer, height, width = shape = list(graph.tensors[access.tensor].shape)
        grid = [*outer, height // rows, width // cols]
    strides = [region.beats_per_tile]
    for extent in reversed(grid[1:] if grid else []):
        strides.insert(0, strides[0] * extent)
    bits = {"name": region.node, "port": region.node, "bits": 8 * fabric.netlist.fabric.memory.beat_bytes}
    beats = {"base": region.base, "beats": region.beats, "size_beats": region.beats_per_tile}
    tensor = {"tensor": access.tensor, "shape": shape, "dtype": str(access.tile.dtype)}
    return {**bits, **beats, **tensor, "tile": [rows, cols], "grid": grid, "strides": strides}


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
            yield _told(f"source {node.name}", node.output_types[0], *output_formats(node, fabric.netlist))
        elif operator.hands_out:
            yield _told(f"sink {node.name}", node.input_types[0], *input_formats(node, fabric.netlist))
    for kind, regions in (("load", fabric.memory.loads), ("store", fabric.memory.stores)):
        for region in regions.values():
            yield f"{f'{kind} {region.node}':<20} {region.beats_per_tile} beats a tile, from beat {region.base} on"
    if MEMORY_RESET in fabric.structure.ports:
        yield f"{MEMORY_RESET:<20} memory forgets what it was asked for: at power-on, and wherever it is reset too"


def _told(what: str, stream: StreamType, format: TokenFormat) -> str:
    return f"{what:<20} {data_bits(format)} bits, {format.cycles} transfers a value, {stream}"
