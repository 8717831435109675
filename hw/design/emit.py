"""Verilog of a program, its fabric alone or behind the masters of its memory, and the sidecar that describes it."""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hw.axi.wrapper import wrapped
from hw.fabric import ElaboratedFabric, PlacedChannel, PlacedScratchpad, PlacedUnit, elaborate
from hw.functions.model import SOURCES
from hw.links.layout import TokenFormat, data_bits, input_formats, output_formats
from hw.verilog.convert import ModuleLibrary, ModuleText, tool_versions
from hw.verilog.heads import used_as
from hw.verilog.regions import in_regions
from hw.verilog.structure import LISTS, MEMORY_RESET, Structure, list_files, top_text
from step.errors import FabricError
from step.host.installing import installing
from step.host.progress import Progress, silent
from step.host.texts import write_files
from step.language.graph import Node
from step.language.operator import Access, StreamType
from step.language.tiling import accesses
from step.lowering.board import BoardPlan, board_of
from step.lowering.memory import Region, Share
from step.lowering.netlist import Netlist

SIDECAR = "fabric.json"
WAIVERS = Path(__file__).with_name("waivers.vlt")
LINT_RULES = tuple(Path(__file__).with_name(each) for each in ("slang.f", "rules.verible_lint"))

HEAVY = 200_000
"""Characters of Verilog, all instances below counted, from which on a repeated module is worth a build of its own."""


@dataclass(frozen=True)
class EmittedDesign:
    """Emitted Verilog: ``files`` by name, the ``sidecar`` as plain data, and the top module as it is wired."""

    files: dict[str, str]
    sidecar: dict[str, Any]
    structure: Structure

    @property
    def hash(self) -> str:
        """Digest of everything but the comment at the head of the top module, which has it."""
        return str(self.sidecar["hash"])

    def put(self, directory: Path | str | None) -> EmittedDesign:
        """This, written into ``directory``, if one is given, where no file of an earlier one is left."""
        if directory is not None:
            with installing(Path(directory), last=SIDECAR) as staged:
                self.write(staged)
        return self

    def write(self, directory: Path) -> None:
        """Write the files and the sidecar into ``directory``."""
        write_files(directory, {**self.files, SIDECAR: json.dumps(self.sidecar, indent=2) + "\n"})


def emit(
    netlist: Netlist,
    directory: Path | str | None = None,
    *,
    probes: bool,
    waits: bool = False,
    initial_values: bool = True,
    progress: Progress = silent,
) -> EmittedDesign:
    """Emit the fabric of ``netlist``, into ``directory`` if one is given, where no file of an earlier one is left.

    ``probes`` adds the ports that the cosimulation looks at; without them all that is emitted can be synthesised.
    ``waits`` adds ports that tell who waits for whom, for registers.
    ``initial_values``: registers have their value at power-on too, as FPGAs can; for an ASIC only reset gives it.
    ``progress`` is told how many modules are made.

    Equal programs give equal bytes. Raises `FabricError` for programs that the fabric can not hold.
    """
    if not probes:
        check_synthesisable(netlist)
    progress("writing Verilog")
    fabric, library = elaborate(netlist, probes=probes, waits=waits), ModuleLibrary(initial_values=initial_values)
    used = library.require_all(fabric.structure)
    modules = library.texts(progress)
    uses = {} if probes else fabric.operators_of
    files = {each.file: used_as(each.text, uses.get(each.name, ())) for each in modules.values()}
    top = f"{fabric.structure.name}.sv"
    structures, places = in_regions(fabric.structure)
    files |= {f"regions/{each.name}.sv": f"// Region: part of {top}.\n{top_text(each)}" for each in structures[1:]}
    files[top] = top_text(structures[0])
    files |= {each.name: each.read_text() for each in (WAIVERS, *LINT_RULES)}
    cpp = SOURCES if any(module.model for module in modules.values()) else ()
    files |= {source.name: source.read_text() for source in cpp}
    sources = [name for name in files if name.endswith(".sv")]
    files |= list_files(fabric.structure.name, sources, [WAIVERS.name])
    design = EmittedDesign(files, sidecar(fabric, files, heavy_modules(used, modules), places), fabric.structure)
    files[top] = header(fabric, design.hash, initial_values) + files[top]
    return design.put(directory)


def design_of(
    netlist: Netlist,
    directory: Path | str | None = None,
    *,
    probes: bool,
    initial_values: bool = True,
    progress: Progress = silent,
) -> EmittedDesign:
    """`emit`, and where ``fabric.memory.bus`` says that ports share buses, the wrapper with the masters around it.

    Raises `FabricError` as `emit` and `board_of` do.
    """
    bus = netlist.fabric.memory.bus
    if bus is None:
        return emit(netlist, directory, probes=probes, initial_values=initial_values, progress=progress)
    fabric = emit(netlist, probes=probes, initial_values=initial_values, progress=progress)
    board = board_of(netlist, bus)
    structure = wrapped(fabric.structure, netlist, board, limits=False)
    wrapper, module = structure_files(structure, initial_values=initial_values), structure.name
    files = fabric.files | wrapper
    sources = [name for name in files if name.endswith(".sv")]
    files |= list_files(module, sources, [WAIVERS.name])
    digest = hashlib.sha256(json.dumps([fabric.hash, sorted(wrapper.items())]).encode()).hexdigest()
    sidecar = {**fabric.sidecar, "module": module, "board": _plan(board), "files": sources, "hash": digest}
    return EmittedDesign(files, sidecar, structure).put(directory)


def _plan(board: BoardPlan) -> dict[str, Any]:
    """Facts that a bench has to know: masters that read and that write, the image of each port, and bases in memory."""
    every = range(board.bus.masters)
    return {
        "reads": [number for number in every if board.of(number, writes=False)],
        "writes": [number for number in every if board.of(number, writes=True)],
        "ports": [{"name": each.name, "master": each.master, "writes": each.writes} for each in board.ports],
        "images": [{"name": each.name, "base": each.base * board.beat_bytes} for each in board.images],
    }


def check_synthesisable(netlist: Netlist) -> None:
    """Raise `FabricError` for a fabric that can only be simulated."""
    if netlist.fabric.arithmetic == "model":
        raise FabricError('arithmetic="model" can only be simulated; Verilog for synthesis needs arithmetic="rtl"')


def structure_files(structure: Structure, *, initial_values: bool = True) -> dict[str, str]:
    """SystemVerilog of ``structure`` and of the components in it, but not of other structures, by file name."""
    library = ModuleLibrary(initial_values=initial_values)
    library.require_all(structure)
    texts = {module.file: module.text for module in library.texts().values()}
    return {**texts, f"{structure.name}.sv": top_text(structure)}


def heavy_modules(top: Counter[str], modules: dict[str, ModuleText]) -> list[str]:
    """The outermost modules that are large and instantiated several times; ``top`` counts the top's instances."""

    @cache
    def weight(name: str) -> int:
        return len(modules[name].text) + sum(map(weight, modules[name].children))

    chosen, level = set[str](), top
    while level:
        heavy = {name: count for name, count in level.items() if weight(name) >= HEAVY}
        chosen |= {name for name, count in heavy.items() if count > 1}
        level = Counter(child for name, count in heavy.items() if count == 1 for child in modules[name].children)
    return sorted(chosen)


def sidecar(
    fabric: ElaboratedFabric, files: Mapping[str, str], hierarchical: Sequence[str], places: Mapping[str, str]
) -> dict[str, Any]:
    """Plain data that names all in ``files`` of ``fabric``, and its digest; ``places`` are as of `in_regions`."""
    netlist, memory, plain_fabric = fabric.netlist, fabric.memory, fabric.netlist.fabric.to_json()
    given = [node for node in netlist.units if node.operator.given() is not None]
    handed_out = [node for node in netlist.units if node.operator.hands_out]
    digest = hashlib.sha256()
    for name, text in sorted(files.items()):
        digest.update(f"{name}\n{len(text)}\n{text}".encode())
    plain: dict[str, Any] = {
        "format": "step-sidecar-4",
        "module": fabric.structure.name,
        "sources": [_stream(each, each.output_types[0], *output_formats(each, netlist)) for each in given],
        "sinks": [_stream(each, each.input_types[0], *input_formats(each, netlist)) for each in handed_out],
        "reads": [
            _region(fabric, memory.loads[node.name], access) for node, access in accesses(netlist.units, writes=False)
        ],
        "writes": [
            _region(fabric, memory.stores[node.name], access) | {"acknowledged": access.acknowledged}
            for node, access in accesses(netlist.units, writes=True)
        ],
        "channels": [_channel(each, places) for each in fabric.channels],
        "units": [{"index": at, **_unit(each, places)} for at, each in enumerate(fabric.units)],
        "buffers": [_buffers(pad, share, places) for pad in fabric.scratchpads for share in pad.scratchpad.shares],
        "memory": {**plain_fabric["memory"], "beats_total": memory.beats},
        "settling_cycles": fabric.settling_cycles,
        "fabric": plain_fabric,
        "files": [name for name in files if name.endswith(".sv")],
        "waivers": [name for name in files if name.endswith(".vlt")],
        "lists": [*LISTS, *(each.name for each in LINT_RULES)],
        "cpp": [name for name in files if name.endswith(".cpp")],
        "hierarchical": list(hierarchical),
        "versions": tool_versions(),
    }
    digest.update(json.dumps(plain).encode())
    return {**plain, "hash": digest.hexdigest()}


def _channel(channel: PlacedChannel, places: Mapping[str, str]) -> dict[str, Any]:
    edge, format = channel.edge, channel.format
    ends = {"wires": places[channel.stem], "producer": list(edge.producer), "consumer": list(edge.consumer)}
    bits = {"header_bits": format.header.size, "word_bits": format.word_bits, "words": format.words}
    slots = {"rank": edge.type.rank, "depth": edge.depth, "capacity": channel.capacity}
    return {"index": edge.index, "name": edge.name, **ends, **bits, **slots, "element": str(edge.type.element)}


def _unit(unit: PlacedUnit, places: Mapping[str, str]) -> dict[str, str]:
    node = unit.node
    told = {"name": node.name, "operator": node.operator.name, "module": unit.component.module_name}
    return {**told, "instance": places[unit.instance], "source": str(node.location)}


def _buffers(pad: PlacedScratchpad, share: Share, places: Mapping[str, str]) -> dict[str, Any]:
    ends = {"name": share.filler.name, "reader": share.reader.name}
    sizes = {"pages": share.pages, "slots": share.slots, "words": share.words, "element": str(share.buffer)}
    return {**ends, "scratchpad": pad.scratchpad.index, "instance": places[pad.stem], **sizes}


def _stream(node: Node, stream: StreamType, format: TokenFormat) -> dict[str, Any]:
    """A source or a sink."""
    bits = {"data_bits": data_bits(format), "user_bits": format.header_bits, "words": format.cycles}
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
