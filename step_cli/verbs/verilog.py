"""``step verilog``."""

from __future__ import annotations

from typing import Annotated

from cosim.building.design import SIDECAR
from cosim.building.wrappers import write_wrappers
from cosim.running.bench_run import check_memory
from cosim.testbench.folder import write_bench
from hw.design.emit import design_of
from hw.design.short_names import renamed, short_names
from step.errors import InputError
from step.programs.prepare import prepare
from step_cli.console import show, working
from step_cli.files import writing_folder
from step_cli.options import Binding, Folder, ProgramAndInputs, Style
from step_cli.verb import verb


@verb
def command(
    *,
    program: ProgramAndInputs,
    binding: Binding,
    output: Folder,
    bench: Annotated[bool, "For simulation: with probes, a bench, and the program's data."],
    style: Style = "fpga",
) -> None:
    """Write a program's RTL as Verilog, with a sidecar (fabric.json) that names everything.

    Without --bench the Verilog is for synthesis. With it, `make -f verilator.mk DIR=...` builds and runs it, and so do
    the targets sim and sim_icarus of its FuseSoC core. Of what it wrote to DIR before nothing is left; files of others,
    and those that were changed since, stay.
    """
    opened = program.load(binding)
    if bench and not opened.inputs:
        raise InputError("--bench needs input data, but the program has none; give --inputs FILE.npz")
    prepared = prepare(opened)
    netlist = prepared.netlist
    if bench:  # told before the work
        check_memory(netlist)
        _ = prepared.data
    with working() as progress:
        design = design_of(netlist, probes=bench, initial_values=style == "fpga", progress=progress)
        design = renamed(design, short_names(design.files, netlist.graph.name))
        with writing_folder(output, SIDECAR) as staged:
            design.write(staged)
            write_wrappers(staged)
            if bench:
                write_bench(prepared, design, staged)
    show(
        design.sidecar,
        f"{output}: {len(design.files)} files, top module {design.sidecar['module']}, "
        f"{len(netlist.units)} units, {len(netlist.channels)} channels",
    )
