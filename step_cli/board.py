"""``step board``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from cosim.board.folder import SIDECAR, Options, write_folder
from cosim.board.litex import litex_options, write_system
from step.errors import InputError
from step.host.amounts import MEGAHERTZ
from step.lowering.bus import PAGE, BusConfig
from step.programs.data.inputs import bind_inputs
from step.programs.data.npz import load_inputs
from step.programs.prepare import prepare
from step_cli.console import show_json, working
from step_cli.options import (
    Amount,
    Command,
    Given,
    binding_option,
    folder_option,
    json_option,
    program_options,
    style_option,
    writing_folder,
)


class _Address(click.ParamType):
    """A number in decimal, or with 0x in hexadecimal."""

    name = "address"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else int(str(value), 0)
        except ValueError:
            self.fail(f"{value!r} is no number", param, ctx)


def _of_bus(name: str, what: str) -> Callable[[Command], Command]:
    """An option for a parameter of `BusConfig`, which is None where it is not given."""
    default = f"  [default: {getattr(BusConfig(), name)}]"
    return click.option(f"--{name.replace('_', '-')}", name, type=int, help=f"{what}{default}")


@click.command()
@program_options
@binding_option
@folder_option
@click.option(
    "--target",
    type=click.Choice(["axi", "litex"]),
    default="axi",
    show_default=True,
    help="What the folder is for: FPGA tools, or besides a system on chip in simulation (LiteX).",
)
@click.option(
    "--batch",
    "batches",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="More data (.npz) that the firmware of --target litex runs after the program's own; repeat for several.",
)
@_of_bus("masters", "AXI4 masters, 1 to 4.")
@_of_bus("bytes", "Bytes of data on a bus.")
@_of_bus("burst", "Transfers of a burst at most.")
@_of_bus("outstanding", "Bursts without an answer at most.")
@_of_bus("address_bits", "Of the buses.")
@click.option(
    "--streams",
    type=click.Choice(["memory", "edge"]),
    default="memory",
    show_default=True,
    help="Whether DMA has the streams in memory, or they are AXI4-Stream ports.",
)
@click.option("--clock", type=Amount(MEGAHERTZ, 1), default=100.0, show_default=True, help="For constraints, in MHz.")
@click.option("--base", type=_Address(), help="Address of the memory image.  [default: 0x80000000, or 0]")
@style_option
@json_option
def board(
    given: Given,
    binding: Path | None,
    output: Path,
    target: str,
    batches: tuple[Path, ...],
    streams: str,
    clock: float,
    base: int | None,
    style: str,
    as_json: bool,
    **bus_options: int | None,
) -> None:
    """Write a program as a block for a system on chip: AXI4 masters, registers, drivers, a bench.

    The folder has SystemVerilog, a FuseSoC core with targets sim, lint and synth, IP-XACT, constraints, a C driver,
    and the program's data as a memory image. Its README.md says what to do with it.
    """
    if base is not None and (base < 0 or base % PAGE):
        raise InputError(f"--base must be an address >= 0 and a multiple of {PAGE}, not {base:#x}")
    if batches and target != "litex":
        raise InputError("--batch is for firmware: it needs --target litex")
    prepared = prepare(given.program(binding))
    wanted = {name: value for name, value in bus_options.items() if value is not None}
    bus = replace(prepared.fabric.memory.bus or BusConfig(), **wanted)
    options = Options(bus, streams == "memory", clock, base, style == "fpga")
    more = [(str(each), bind_inputs(prepared.graph, load_inputs(each, prepared.graph))) for each in batches]
    if target == "litex":
        options = litex_options(options)
    with working() as progress, writing_folder(output, SIDECAR) as staged:
        if target == "litex":
            written = write_system(prepared, options, more, staged, progress)
        else:
            written = write_folder(prepared, options, staged, progress)
    if as_json:
        show_json({"module": written.tables.design.top.name, "directory": str(output)})
    else:
        tables = written.tables
        click.echo(
            f"{output}: {len(written.rtl)} Verilog files, top module {tables.design.top.name}, "
            f"{len(written.places)} images, {len(tables.design.registers)} registers"
        )
