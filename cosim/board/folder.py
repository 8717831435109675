"""The folder that `step board --target axi` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cosim.board.bench_text import bench_text, data_files
from cosim.board.c_registers import HEADER, registers_header
from cosim.board.c_tables import tables_header, tables_source
from cosim.board.constraints import sdc, xdc
from cosim.board.host_files import host_tables, write_host
from cosim.board.ipxact import component_text
from cosim.board.memory import PlacedImage, contents, places, wanted
from cosim.board.readme_text import readme_text
from cosim.board.tables import Tables, tables_of
from cosim.building.wrappers import write_wrappers
from cosim.testbench.axi import AXI_MEMORY
from hw.design.emit import WAIVERS, check_synthesisable
from hw.registers.files import write_register_files
from hw.registers.wrapper import board_design
from hw.verilog.file_lists import BenchFiles, core_files, file_list_text
from step.errors import InputError
from step.host.progress import Progress, silent
from step.lowering.board import BoardPlan, board_of
from step.lowering.bus import BusConfig
from step.lowering.feasible import check_feasible
from step.programs.prepare import Prepared
from step.running.interpreter import interpret

HERE = Path(__file__).parent
SIDECAR = "board.json"
BASE = 0x8000_0000
"""Where images lie by default, if addresses go there; else they begin at 0."""

_WAIVED = """
// The board's interrupt has the name that others give to theirs; it is no word of C++.
lint_off -rule SYMRSVDWORD
"""


@dataclass(frozen=True)
class Options:
    """``mhz``: the clock of constraints. ``base``: where memory begins. ``initial_values`` as of `emit`."""

    bus: BusConfig
    streams: bool = True
    mhz: float = 100.0
    base: int | None = None
    initial_values: bool = True

    @property
    def first(self) -> int:
        """The address of the first image."""
        return self.base if self.base is not None else BASE if self.bus.address_bits >= 32 else 0


@dataclass(frozen=True)
class Folder:
    """A folder that was written: the tables, and the places of the images."""

    tables: Tables
    places: tuple[PlacedImage, ...]
    rtl: tuple[str, ...]


def write_folder(prepared: Prepared, options: Options, directory: Path, progress: Progress = silent) -> Folder:
    """Write the board of ``prepared``, which has data, into the empty ``directory``.

    Raises `InputError` without data, and what `board_design` raises.
    """
    if not prepared.given:
        raise InputError("a board's memory image needs input data, but the program has none; give --inputs FILE.npz")
    netlist, data = prepared.netlist, prepared.data
    _placed(board_of(netlist, options.bus, streams=options.streams), options, {})  # what is known without data
    check_feasible(netlist)
    check_synthesisable(netlist)
    progress("writing Verilog")
    design = board_design(netlist, options.bus, streams=options.streams, initial_values=options.initial_values)
    tables = tables_of(netlist, design)
    progress("running the program for its memory image")
    before = contents(tables, data)
    after = wanted(tables, interpret(prepared.graph, data).outputs)
    sizes = {name: len(each) for name, each in before.items()} | {
        name: len(each.content) for name, each in after.items()
    }
    placed = _placed(design.board, options, sizes)
    rtl = _write_rtl(tables, directory)
    _write_drivers(tables, placed, prepared, directory)
    write_host(directory)
    _write_data(tables, placed, data_files(tables, placed, before, after), sizes, directory)
    _write_for_tools(tables, placed, rtl, options, directory)
    return Folder(tables, placed, rtl)


def _placed(board: BoardPlan, options: Options, sizes: Mapping[str, int]) -> tuple[PlacedImage, ...]:
    """Places of the images; raises `InputError` where the addresses of the bus end before them."""
    placed = places(board, options.first, sizes)
    if placed[-1].end > 1 << options.bus.address_bits:
        mend = "choose a lower --base" if options.first else "give more --address-bits"
        raise InputError(
            f"the images end at {placed[-1].end:#x}, beyond the {options.bus.address_bits} bits of addresses; {mend}"
        )
    return placed


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _write_rtl(tables: Tables, directory: Path) -> tuple[str, ...]:
    names = []
    for name, text in tables.design.files.items():
        if name.endswith(".sv"):
            names.append(f"rtl/{name}")
            _write(directory / "rtl" / name, text)
    _write(directory / "rtl" / WAIVERS.name, WAIVERS.read_text() + _WAIVED)
    _write(directory / "rtl.f", file_list_text(names))
    return tuple(names)


def _write_drivers(tables: Tables, placed: Sequence[PlacedImage], prepared: Prepared, directory: Path) -> None:
    software, registers = directory / "sw", directory / "registers"
    for source in sorted((HERE / "c").iterdir()):
        _write(software / source.name, source.read_text())
    _write(software / HEADER, registers_header(tables.design.registers, prepared.fabric))
    _write(software / f"{tables.name}.h", tables_header(tables))
    _write(software / f"{tables.name}.c", tables_source(tables, placed))
    registers.mkdir()
    write_register_files(f"{tables.name}_registers", tables.design.registers, registers)


def _write_data(
    tables: Tables, placed: Sequence[PlacedImage], files: dict[str, bytes], sizes: dict[str, int], directory: Path
) -> None:
    data = directory / "data"
    data.mkdir()
    for name, content in files.items():
        (data / name).write_bytes(content)
    _write(data / "memory.json", json.dumps(_memory_map(tables, placed, sizes), indent=1) + "\n")


def _memory_map(tables: Tables, placed: Sequence[PlacedImage], sizes: dict[str, int]) -> dict[str, Any]:
    """``memory.json``: images with their addresses and registers; ``data_bytes``: what the program's data takes."""
    addresses, images = tables.addresses, []
    for place in placed:
        registers = {
            kind: addresses[name]
            for kind, name in (
                ("base_low", f"base_{place.name}_low"),
                ("base_high", f"base_{place.name}_high"),
                ("limit", f"limit_{place.name}"),
            )
            if name in addresses
        }
        images.append({**asdict(place), "data_bytes": sizes.get(place.name, 0), "registers": registers})
    return {"base": placed[0].address, "bytes": placed[-1].end - placed[0].address, "images": images}


def _write_for_tools(
    tables: Tables, placed: Sequence[PlacedImage], rtl: tuple[str, ...], options: Options, directory: Path
) -> None:
    top, name = tables.design.top.name, tables.name
    core, constraints = f"{top}.core", {f"constraints/{name}.{kind}": kind.upper() for kind in ("sdc", "xdc")}
    bench = BenchFiles(
        f"{name}_bench",
        [f"bench/{AXI_MEMORY.name}", f"bench/{name}_bench.sv"],
        [f"data/{each}.hex" for each in ("memory", "expected", "mask")],
    )
    for file, text in core_files(core, "board", top, rtl, [f"rtl/{WAIVERS.name}"], constraints, bench).items():
        _write(directory / file, text)
    _write(directory / "bench" / AXI_MEMORY.name, AXI_MEMORY.read_text())
    _write(directory / "bench" / f"{name}_bench.sv", bench_text(tables, placed))
    write_wrappers(directory)
    _write(directory / "constraints" / f"{name}.sdc", sdc(tables.design.top, options.mhz))
    _write(directory / "constraints" / f"{name}.xdc", xdc(top, options.mhz, options.bus))
    _write(directory / "ip" / "component.xml", component_text(tables.design, rtl, options.mhz))
    _write(directory / "README.md", readme_text(tables, placed, core, options.mhz))
    _write(directory / SIDECAR, json.dumps(_sidecar(tables, options), indent=1) + "\n")


def _sidecar(tables: Tables, options: Options) -> dict[str, Any]:
    board = tables.design.board
    return {
        "format": "step-board-1",
        "module": tables.design.top.name,
        "bus": asdict(options.bus),
        "mhz": options.mhz,
        "registers": tables.addresses,
        "ports": [asdict(each) for each in board.ports],
        "streams": [asdict(each) for each in board.streams],
        "host": host_tables(tables),
        "fabric": tables.design.fabric.sidecar,
    }
