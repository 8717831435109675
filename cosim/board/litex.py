"""``step board --target litex``: a system on chip around a board, for simulation (`cosim/board/soc`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cosim.board.batches import Batch, batch_of, batches_source, results_bytes
from cosim.board.folder import Folder, write_folder
from cosim.board.memory import contents, wanted
from cosim.board.options import Options
from cosim.building.design import Hierarchy, load_design
from step.errors import InputError, expect
from step.host.progress import Progress, silent
from step.host.texts import copied, write_files
from step.language.tokens import Token
from step.lowering.limits import power_of_two
from step.programs.data.inputs import BoundInputs
from step.programs.files.json_file import json_bytes
from step.programs.prepare import Prepared
from step.running.interpreter import interpret

SYSTEM = Path(__file__).parent / "soc"
MEMORY = 0x4000_0000
"""Where LiteX puts main memory for a VexRiscv."""

ADDRESS_BITS = 32
CODE = 0x10000
"""Bytes of the ROM for all but data, and of the SRAM for all but results."""

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
) -> Folder:
    """Write what `write_folder` does, and ``soc/``: the system, and firmware that runs batches.

    ``options`` are `litex_options`. The first batch is the data of ``prepared``; ``batches`` follow, with names for
    errors. Raises `InputError` for one that has no room in the images, and what `write_folder` raises.
    """
    written = write_folder(prepared, options, directory, progress)
    places = written.places
    made = list[Batch]()
    for name, data in (("the program", prepared.data), *batches):
        progress(f"running {name} for what has to come out")
        outputs = interpret(prepared.graph, data).outputs
        _check_room(written, name, data, outputs)
        made.append(batch_of(written.tables, data, outputs))
    text, arrays = batches_source(written.tables, made, places[-1].end - MEMORY)
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


def _check_room(written: Folder, name: str, data: BoundInputs, outputs: Mapping[str, Sequence[Token]]) -> None:
    sizes = {image: len(each) for image, each in contents(written.tables, data).items()}
    sizes |= {image: len(each.content) for image, each in wanted(written.tables, outputs).items()}
    for place in written.places:
        if sizes.get(place.name, 0) > place.bytes:
            raise InputError(
                f"{name}: {place.name} takes {sizes[place.name]:,} bytes, and the board has room for {place.bytes:,}: "
                "the largest data has to be the program's own (--inputs)"
            )
