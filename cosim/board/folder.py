"""The folder that `step board --target axi` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cosim.board.bench_text import bench_text, data_files
from cosim.board.c_registers import HEADER, registers_header
from cosim.board.c_tables import tables_header, tables_source
from cosim.board.constraints import TEXTS, sdc, xdc
from cosim.board.ipxact import component_text
from cosim.board.memory import contents, places, wanted
from cosim.board.options import Options
from cosim.board.packages import package_files
from cosim.board.readme_text import readme_text
from cosim.board.tables import PlacedImage, Tables, tables_of
from cosim.building.wrappers import write_wrappers
from cosim.testbench.axi import AXI_MEMORY
from hw.design.emit import LINT_RULES, WAIVERS, check_synthesisable
from hw.registers.files import write_register_files
from hw.registers.wrapper import DEFAULT, board_design
from hw.verilog.structure import BenchFiles, core_files, file_list_text
from step.errors import InputError, expect
from step.host.progress import Progress, silent
from step.host.texts import copied, write_files
from step.language.tokens import Token
from step.language.types import Selector, leaves
from step.lowering.board import BoardPlan, board_of
from step.lowering.feasible import check_feasible
from step.lowering.netlist import Netlist
from step.programs.files.json_file import json_bytes
from step.programs.prepare import Prepared
from step.running.interpreter import interpret

HERE = Path(__file__).parent
SIDECAR = "board.json"


@dataclass(frozen=True)
class Folder:
    """A folder that was written: the tables, the places of the images, and what the program's data becomes."""

    tables: Tables
    places: tuple[PlacedImage, ...]
    outputs: dict[str, list[Token]]


def write_folder(prepared: Prepared, options: Options, directory: Path, progress: Progress = silent) -> Folder:
    """Write the board of ``prepared``, which has data, into the empty ``directory``.

    Raises `InputError` without data, and what `board_design` raises.
    """
    if not prepared.given:
        raise InputError("a board's memory image needs input data, but the program has none; give --inputs FILE.npz")
    netlist, data = prepared.netlist, prepared.data
    _placed(board_of(netlist, options.bus, streams=options.streams), options, {})  # what is known without data
    _check_packets(netlist, options)
    check_feasible(netlist)
    check_synthesisable(netlist)
    progress("writing Verilog")
    design = board_design(
        netlist,
        options.bus,
        own_clock=options.bus_mhz is not None,
        streams=options.streams,
        initial_values=options.initial_values,
        packets=options.tlast,
        names=options.names,
    )
    tables = tables_of(netlist, design)
    progress("running the program for its memory image")
    before = contents(tables, data)
    outputs = interpret(prepared.graph, data).outputs
    after = wanted(tables, outputs)
    sizes = {name: len(each) for name, each in before.items()}
    sizes |= {name: len(each.content) for name, each in after.items()}
    placed = _placed(design.board, options, sizes)
    images = data_files(tables, placed, before, after)
    write_files(directory, _files(tables, placed, options, images, sizes))
    write_wrappers(directory)
    (directory / "registers").mkdir()
    write_register_files(f"{tables.name}_registers", design.registers, directory / "registers")
    return Folder(tables, placed, outputs)


def _check_packets(netlist: Netlist, options: Options) -> None:
    """Raise `InputError` for packets that no stream has."""
    expect(
        not (options.tlast and options.streams), "--tlast is for AXI4-Stream ports: it needs --streams edge", InputError
    )
    ranks = {node.name: node.input_types[0].rank for node in netlist.units if node.operator.hands_out}
    most = max(ranks.values(), default=0)
    expect(
        options.tlast <= most,
        f"--tlast {options.tlast} is beyond the stops of all sinks, of {most} at most",
        InputError,
    )


def _placed(board: BoardPlan, options: Options, sizes: Mapping[str, int]) -> tuple[PlacedImage, ...]:
    """Places of the images; raises `InputError` where the addresses of the bus end before them."""
    placed = places(board, options.first, sizes)
    if placed[-1].end > 1 << options.bus.address_bits:
        mend = "choose a lower --base" if options.first else "give more --address-bits"
        raise InputError(
            f"the images end at {placed[-1].end:#x}, beyond the {options.bus.address_bits} bits of addresses; {mend}"
        )
    return placed


def _files(
    tables: Tables, placed: Sequence[PlacedImage], options: Options, data: Mapping[str, bytes], sizes: Mapping[str, int]
) -> dict[str, str | bytes]:
    """The files of the board by name, but for wrappers and those of PeakRDL."""
    design, name, top, clocks = tables.design, tables.name, tables.design.top, options.megahertz
    rtl, core = tables.rtl, f"{top.name}.core"
    constraints = {f"constraints/{name}.{kind}": kind.upper() for kind in ("sdc", "xdc")}
    bench = {
        f"bench/{AXI_MEMORY.name}": AXI_MEMORY.read_text(),
        f"bench/{name}_bench.sv": bench_text(tables, placed, clocks),
    }
    words, waivers = [f"data/{each}.hex" for each in ("memory", "expected", "mask")], f"rtl/{WAIVERS.name}"
    simulated = BenchFiles(f"{name}_bench", list(bench), words)
    return {
        **rtl,
        waivers: WAIVERS.read_text() + (TEXTS / "board.vlt").read_text(),
        "rtl.f": file_list_text(list(rtl)),
        **{each.name: each.read_text() for each in LINT_RULES},
        **copied(HERE / "c", "sw"),
        f"sw/{HEADER}": registers_header(design.registers, tables.netlist.fabric),
        f"sw/{name}.h": tables_header(tables),
        f"sw/{name}.c": tables_source(tables, placed),
        **copied(HERE / "host", "host"),
        **{f"data/{each}": content for each, content in data.items()},
        "data/memory.json": json_bytes(_memory_map(tables, placed, sizes)),
        **core_files(core, "board", top.name, list(rtl), [waivers], constraints, simulated),
        **bench,
        f"constraints/{name}.sdc": sdc(top, clocks),
        f"constraints/{name}.xdc": xdc(top, clocks, options.bus),
        "ip/component.xml": component_text(design, list(rtl), clocks),
        **package_files(tables, options),
        "README.md": readme_text(tables, placed, core, clocks, options.package),
        SIDECAR: json_bytes(_sidecar(tables, options)),
    }


def _memory_map(tables: Tables, placed: Sequence[PlacedImage], sizes: Mapping[str, int]) -> dict[str, Any]:
    """``memory.json``: images with their addresses and registers; ``data_bytes``: what the program's data takes."""
    images = [
        asdict(place)
        | {"data_bytes": sizes.get(place.name, 0)}
        | {"registers": {kind: address for kind, (address, _) in tables.settings(place).items()}}
        for place in placed
    ]
    return {"base": placed[0].address, "bytes": placed[-1].end - placed[0].address, "images": images}


def _sidecar(tables: Tables, options: Options) -> dict[str, Any]:
    board = tables.design.board
    return {
        "format": "step-board-1",
        "module": tables.design.top.name,
        "bus": asdict(options.bus) | ({} if options.bus.protocol == "AXI4" else {"protocol": options.bus.protocol}),
        "mhz": options.mhz,
        **({} if options.bus_mhz is None else {"bus_mhz": options.bus_mhz}),
        **({"tlast": options.tlast} if options.tlast else {}),
        **({} if options.names == DEFAULT else {"names": asdict(options.names)}),
        "registers": tables.addresses,
        "ports": [asdict(each) for each in board.ports],
        "streams": [asdict(each) for each in board.streams],
        "host": _host_tables(tables),
        "fabric": tables.design.fabric.sidecar,
    }


def _host_tables(tables: Tables) -> dict[str, Any]:
    """Names, shapes and types of tensors and streams, by their numbers in the driver.

    ``tile`` and ``tile_bytes`` are of a tensor in its first image. The shape of a tensor that only the run tells begins
    with 0. An extent is None where a length says it, and the rows of a part are 0 there.
    """
    tensors, streams = [], []
    for tensor in tables.tensors:
        declared = tables.netlist.graph.tensors.get(tensor.access.tensor or "")
        shape = (tensor.outer, tensor.height, tensor.width) if declared is None else declared.shape
        kind = {"read": declared is not None, "stored": tensor.is_stored}
        tile = next(iter(tensor.tilings.values()))
        images = [tables.design.board.images[at].name for at in tensor.tilings]
        lies = {"images": images, "tile": list(tile.shape), "tile_bytes": tables.tile_bytes(tile)}
        dtype = tensor.access.tile.dtype.name
        tensors.append({"name": tensor.name, "shape": list(shape), "dtype": dtype, **kind, **lies})
    for stream in tables.streams:
        plan, elements = stream.stream.plan, list[Any](leaves(stream.element))
        kinds = ["SELECTOR" if isinstance(each, Selector) else each.dtype.name for each in elements]
        parts = [(each.rows, each.columns, kind) for each, kind in zip(stream.parts, kinds, strict=False)]
        told: dict[str, Any] = {"name": stream.name, "read": stream.stream.is_source, "stored": False}
        told |= {"images": [f"{stream.name}_{part}" for part in plan.parts]}
        streams.append({**told, "extents": list(plan.extents), "rows": plan.rows, "parts": parts})
    return {"fabric": tables.name, "tensors": tensors, "streams": streams}
