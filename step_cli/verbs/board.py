"""``step board``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import click

from cosim.board.folder import SIDECAR, write_folder
from cosim.board.litex import litex_options, run_system, write_system
from cosim.board.options import Options
from cosim.board.packages import package_options
from hw.registers.wrapper import DEFAULT, LOW_RESETS
from step.errors import InputError
from step.host.amounts import MEGAHERTZ
from step.host.pairs import pairs
from step.lowering.bus import PAGE, Axi3Config, BusConfig
from step.programs.data.inputs import bind_inputs
from step.programs.data.npz import load_inputs
from step.programs.prepare import prepare
from step_cli.console import show, working
from step_cli.files import writing_folder
from step_cli.options import READ, Amount, Binding, Folder, ProgramAndInputs, Style
from step_cli.verb import POSITIVE, options_for, verb
from step_torch.vocabulary import read_symbols

BUS = BusConfig()


def _address(text: str) -> int:
    """A number in decimal, or with 0x in hexadecimal."""
    try:
        return int(text, 0)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no number") from None


def _texts(given: tuple[str, ...]) -> dict[str, str]:
    """Symbols by the names of sinks, of ``SINK=FILE``."""
    files = pairs(given, "a text must be SINK=FILE", "the text of {} is given twice")
    return {name: read_symbols(path) for name, path in files.items()}


@verb
def command(
    *,
    program: ProgramAndInputs,
    binding: Binding,
    output: Folder,
    target: Annotated[
        Literal["axi", "litex", "vitis", "pynq-z2", "u55c", "quartus"],
        "What the folder is for: FPGA tools, or besides a system on chip in simulation (LiteX), a Vitis kernel, "
        "Vivado with a PYNQ-Z2 or an Alveo U55C, or Platform Designer.",
    ] = "axi",
    batches: Annotated[
        tuple[Path, ...],
        READ,
        "--batch",
        "More data (.npz) that the firmware of --target litex runs after the program's own; repeat for several.",
    ],
    texts: Annotated[
        dict[str, str],
        _texts,
        "--text",
        "SINK=FILE",
        "The firmware of --target litex writes SINK as text: FILE has the symbols, as symbols.txt of a model.",
    ],
    run: Annotated[bool, "Build the system of --target litex, run the firmware, and show what it says."],
    masters: Annotated[int | None, f"AXI4 masters, 1 to 4.  [default: {BUS.masters}]"],
    bytes: Annotated[int | None, f"Bytes of data on a bus.  [default: {BUS.bytes}]"],
    burst: Annotated[int | None, f"Transfers of a burst at most.  [default: {BUS.burst}]"],
    outstanding: Annotated[int | None, f"Bursts without an answer at most.  [default: {BUS.outstanding}]"],
    address_bits: Annotated[int | None, f"Of the buses.  [default: {BUS.address_bits}]"],
    streams: Annotated[
        Literal["memory", "edge"], "Whether DMA has the streams in memory, or they are AXI4-Stream ports."
    ] = "memory",
    tlast: Annotated[
        int | None,
        POSITIVE,
        "LEVEL",
        "With --streams edge: TLAST of sinks ends a stop of that level, not each token; sources need none.",
    ],
    clock: Annotated[float, Amount(MEGAHERTZ, 1), "For constraints, in MHz."] = 100.0,
    bus_clock: Annotated[
        float | None, Amount(MEGAHERTZ, 1), "The buses have a clock of their own, bus_clk, of so many MHz."
    ],
    protocol: Annotated[Literal["axi4", "axi3"], "Of the buses; AXI3 is that of a Zynq-7000."] = "axi4",
    reset: Annotated[Literal["high", "low"], "Level at which resets are active; low ones are called rst_n."] = "high",
    base: Annotated[int | None, _address, "ADDRESS", "Address of the memory image.  [default: 0x80000000, or 0]"],
    style: Style = "fpga",
) -> None:
    """Write a program as a block for a system on chip: AXI4 masters, registers, drivers, a bench.

    The folder has SystemVerilog, a FuseSoC core with targets sim, lint and synth, IP-XACT, constraints, a C driver,
    and the program's data as a memory image. Its README.md says what to do with it.
    """
    if base is not None and (base < 0 or base % PAGE):
        raise InputError(f"--base must be an address >= 0 and a multiple of {PAGE}, not {base:#x}")
    for option, given in (("--batch", batches), ("--text", texts), ("--run", run)):
        if given and target != "litex":
            raise InputError(f"{option} is for firmware: it needs --target litex")
    prepared = prepare(program.load(binding))
    kind = Axi3Config if protocol == "axi3" else BusConfig
    bus = kind(**{**asdict(prepared.fabric.memory.bus or BUS), **options_for(BusConfig)})
    names = LOW_RESETS if reset == "low" else DEFAULT
    options = Options(bus, streams == "memory", clock, base, style == "fpga", bus_clock, names, tlast or 0)
    more = [(str(each), bind_inputs(prepared.graph, load_inputs(each, prepared.graph))) for each in batches]
    options = litex_options(options) if target == "litex" else package_options(target, options)
    with working() as progress, writing_folder(output, SIDECAR) as staged:
        if target == "litex":
            written = write_system(prepared, options, more, staged, progress, texts)
        else:
            written = write_folder(prepared, options, staged, progress)
    tables = written.tables
    told = (
        f"{output}: {len(tables.rtl)} Verilog files, top module {tables.design.top.name}, "
        f"{len(written.places)} images, {len(tables.design.registers)} registers"
    )
    shown: dict[str, object] = {"module": tables.design.top.name, "directory": str(output)}
    if run:
        with working() as progress:
            said = run_system(output, progress).rstrip()
        shown, told = {**shown, "firmware": said.splitlines()}, f"{told}\n{said}"
    show(shown, told)
