"""``step board --target litex``: a system on chip around a board, for simulation (`cosim/board/soc`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from cosim.board.batches import batch_of, batches_source, results_bytes
from cosim.board.folder import Folder, write_folder
from cosim.board.memory import contents, wanted
from cosim.board.options import Options
from cosim.building.design import Hierarchy, load_design
from step.errors import BuildError, InputError, SimulationError, expect
from step.host.process import run_logged
from step.host.progress import Progress, silent
from step.host.texts import copied, write_files
from step.language.dtypes import UINT32
from step.language.tokens import Token
from step.language.types import Tile
from step.lowering.limits import power_of_two
from step.programs.data.inputs import BoundInputs
from step.programs.files.json_file import json_bytes
from step.programs.prepare import Prepared
from step.running.interpreter import interpret

SYSTEM = Path(__file__).parent / "soc"
MEMORY = 0x4000_0000
"""The address at which LiteX puts main memory for a VexRiscv."""

ADDRESS_BITS = 32
CODE = 0x10000
"""Bytes of the ROM for all but data, and of the SRAM for all but results."""

MOST_SAID = 1000
"""Characters of what tools say in an error: the last ones."""

SYMBOL = Tile(UINT32, 1, 1)
"""Type of the numbers that may be written as symbols."""

NARROWEST, WIDEST = 8, 64
"""Bytes of a bus: the memory has as many bits."""


def litex_options(options: Options) -> Options:
    """``options`` with the addresses of the system; raises `InputError` for what it does not have."""
    width = options.bus.bytes
    if not NARROWEST <= width <= WIDEST:
        raise InputError(f"--target litex takes buses of {NARROWEST} to {WIDEST} bytes, not {width}: give --bytes 32")
    expect(options.streams, "--target litex has nobody at the edge: leave out --streams edge", InputError)
    for way, option in (
        (options.bus_mhz is None, "one clock: leave out --bus-clock"),
        (options.bus.protocol == "AXI4", "AXI4: leave out --protocol axi3"),
        (not options.names.low, "a reset that is active high: leave out --reset low"),
    ):
        expect(way, f"--target litex has {option}", InputError)
    expect(options.base is None, f"--target litex has memory at {MEMORY:#x}: leave out --base", InputError)
    return replace(options, base=MEMORY, bus=replace(options.bus, address_bits=ADDRESS_BITS))


def write_system(
    prepared: Prepared,
    options: Options,
    batches: Sequence[tuple[str, BoundInputs]],
    directory: Path,
    progress: Progress = silent,
    texts: Mapping[str, str] = MappingProxyType({}),
) -> Folder:
    """Write what `write_folder` does, and ``soc/``: the system, and firmware that runs batches.

    ``options`` are `litex_options`. The first batch is the data of ``prepared``; ``batches`` follow, with names for
    errors. ``texts`` are symbols: the firmware writes the numbers of the sink of that name by them, up to the first
    symbol. Raises `InputError` for a batch that has no room in the images, for symbols of what is no sink of numbers,
    and what `write_folder` raises.
    """
    _check_texts(prepared, texts)
    written = write_folder(prepared, options, directory, progress)
    places = written.places
    made = [batch_of(written.tables, prepared.data, written.outputs)]
    for name, data in batches:
        progress(f"running {name} for what has to come out")
        outputs = interpret(prepared.graph, data).outputs
        _check_room(written, name, data, outputs)
        made.append(batch_of(written.tables, data, outputs))
    text, arrays = batches_source(written.tables, made, places[-1].end - MEMORY, texts)
    design, rtl = written.tables.design, written.tables.rtl
    hierarchy = Hierarchy(load_design(design.fabric.sidecar, directory / "rtl"))
    board = {
        "top": design.top.name,
        "files": [f"../{each}" for each in rtl],
        "bytes": options.bus.bytes,
        "masters": options.bus.masters,
        "register_bits": design.top.ports["s_axil_araddr"][1],
        "rom": power_of_two(CODE + len(arrays)),
        "sram": power_of_two(CODE + results_bytes(made)),
    }
    files: dict[str, str | bytes] = {
        **copied(SYSTEM, "soc"),
        "soc/batches.c": text,
        "soc/batches.bin": arrays,
        "soc/control.vlt": hierarchy.control_file(False, ()),
        "soc/soc.json": json_bytes(board),
    }
    write_files(directory, files)
    return written


def run_system(directory: Path, progress: Progress = silent) -> str:
    """Build the system of the folder ``directory`` with the packages of this Python; returns what its firmware says.

    Raises `BuildError` where a tool fails, and `SimulationError` where a result is wrong.
    """
    log = directory / "soc" / "run.log"
    log.unlink(missing_ok=True)
    for target, error in (("build", BuildError), ("run", SimulationError)):
        progress("building the system" if target == "build" else "running the firmware")
        command = ["make", "--no-print-directory", "-s", target, f"PYTHON={sys.executable}"]
        if run_logged(command, log, directory=log.parent, environment=os.environ):
            raise error(f"the system in '{log.parent}' failed: {log.read_text().rstrip()[-MOST_SAID:]}")
    return log.read_text()


def _check_texts(prepared: Prepared, texts: Mapping[str, str]) -> None:
    for name in texts:
        node = prepared.graph.nodes.get(name)
        if node is None or not node.operator.hands_out or node.inputs[0].element != SYMBOL:
            raise InputError(f"--text needs a sink of {SYMBOL}, and {name!r} is none")


def _check_room(written: Folder, name: str, data: BoundInputs, outputs: Mapping[str, Sequence[Token]]) -> None:
    sizes = {image: len(each) for image, each in contents(written.tables, data).items()}
    sizes |= {image: len(each.content) for image, each in wanted(written.tables, outputs).items()}
    for place in written.places:
        if sizes.get(place.name, 0) > place.bytes:
            raise InputError(
                f"{name}: {place.name} takes {sizes[place.name]:,} bytes, and the board has room for {place.bytes:,}: "
                "the largest data has to be the program's own (--inputs)"
            )
