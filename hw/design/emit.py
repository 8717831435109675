"""Verilog of a program, its fabric alone or behind the masters of its memory, and the sidecar that describes it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hw.axi.wrapper import wrapped
from hw.design.sidecar import header, sidecar
from hw.fabric import elaborate
from hw.functions.model import SOURCES
from hw.memory.port import MEMORY_RESET
from hw.verilog.convert import ModuleLibrary, ModuleText
from hw.verilog.file_lists import list_files
from hw.verilog.structure import Structure, Written, interfaces_of, port_widths, separated
from step.errors import FabricError
from step.host.installing import installing
from step.host.progress import Progress, silent
from step.lowering.board import BoardPlan, board_of
from step.lowering.netlist import Netlist

SIDECAR = "fabric.json"
WAIVERS = Path(__file__).with_name("waivers.vlt")
_BUS = "m_axi"

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
        for name, text in {**self.files, SIDECAR: json.dumps(self.sidecar, indent=2) + "\n"}.items():
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_text(text)


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
    fabric = elaborate(netlist, probes=probes, waits=waits)
    library = ModuleLibrary(initial_values=initial_values)
    used = Counter(library.require(instance.component) for instance in fabric.structure.instances)
    modules = library.texts(progress)
    files = {module.file: module.text for module in modules.values()}
    top = f"{fabric.structure.name}.sv"
    files[top] = top_text(fabric.structure)
    files[WAIVERS.name] = WAIVERS.read_text()
    cpp = SOURCES if any(module.model for module in modules.values()) else ()
    files |= {source.name: source.read_text() for source in cpp}
    sources = [name for name in files if name.endswith(".sv")]
    files |= list_files(fabric.structure.name, sources, [WAIVERS.name])
    design = EmittedDesign(files, sidecar(fabric, files, heavy_modules(used, modules)), fabric.structure)
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
    for instance in structure.instances:
        if not isinstance(instance.component, Written):
            library.require(instance.component)
    texts = {module.file: module.text for module in library.texts().values()}
    return {**texts, f"{structure.name}.sv": top_text(structure)}


def top_text(structure: Structure, *, generic: bool = True) -> str:
    """SystemVerilog of the module that wires everything; ``generic`` as of `ModuleLibrary`."""
    ports = {"clk": ("input", 1), "rst": ("input", 1), **structure.ports}
    lines = [f"module {structure.name} ("]
    attributes = _interface_attributes(structure)
    lines += separated(
        f"{attributes.get(name, '')}  {direction} wire {_range(width)}{name}"
        for name, (direction, width) in ports.items()
    )
    lines.append(");")
    lines += [f"  wire {_range(width)}{name};" for name, width in structure.wires.items()]
    for instance in structure.instances:
        module = instance.component.reference if generic else instance.component.module_name
        reset = instance.connections.get("rst", "rst")
        clock: dict[str, str | int] = {"clk": "clk", "rst": reset} if instance.component.clocked else {}
        lines += ["", f"  // {instance.comment}", f"  {module} {instance.name} ("]
        widths = port_widths(instance.component)
        connections = {**clock, **{port: instance.connections.get(port, "") for port in widths}}
        lines += separated(
            f"    .{port}({net if isinstance(net, str) else _constant(net, widths[port])})"
            for port, net in connections.items()
        )
        lines.append("  );")
    for port, expressions in structure.gathered.items():
        lines += ["", f"  assign {port} = {{"]
        lines += separated(f"    {each}" for each in reversed(expressions))
        lines.append("  };")
    return "\n".join([*lines, "endmodule"]) + "\n"


def _interface_attributes(structure: Structure) -> dict[str, str]:
    """Lines in front of ports that tell Vivado which clock and reset streams and buses have, and which way the reset
    goes. With a clock of their own (``bus_clk``) that is the one of AXI4 buses."""
    own = "bus_clk" in structure.ports
    prefixes = {"clk": list[str](), "bus_clk": list[str]()}
    for each in interfaces_of(structure):
        prefixes["bus_clk" if own and each.name.startswith(_BUS) else "clk"].append(each.name)
    found = {}
    for (clock, those), reset in zip(prefixes.items(), ("rst", "bus_rst"), strict=True):
        if those:
            told = f"ASSOCIATED_BUSIF {':'.join(those)}, ASSOCIATED_RESET {reset}"
            found[clock] = _attribute("clock", clock, "CLK", told)
            found |= {each: _attribute("reset", each, "RST", "POLARITY ACTIVE_HIGH") for each in (reset, MEMORY_RESET)}
    return found


def _attribute(kind: str, port: str, signal: str, told: str) -> str:
    information = f'X_INTERFACE_INFO = "xilinx.com:signal:{kind}:1.0 {port} {signal}"'
    return f'  (* {information}, X_INTERFACE_PARAMETER = "{told}" *)\n'


def _constant(value: int, width: int) -> str:
    return f"{width}'h{value:x}"


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


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
