"""A fabric with its bench and data, in a folder."""

from __future__ import annotations

from pathlib import Path

from cosim.building.design import load_design
from cosim.testbench.data import fabric_data
from cosim.testbench.fabric import bench_parts, bench_text, word_bytes
from hw.verilog.core import Bench
from hw.verilog.emit import WAIVERS, Design
from hw.verilog.file_lists import list_files
from step.lowering.arrival import arrival
from step.programs.prepare import Prepared
from step.running.interpreter import interpret


def write_bench(prepared: Prepared, emitted: Design, directory: Path) -> None:
    """Write the bench of ``emitted``, which has probes and is in ``directory``, to ``bench/`` there, and its data.

    The FuseSoC core gets the targets ``sim`` and ``sim_icarus``.
    """
    design, netlist = load_design(directory), prepared.netlist
    outputs = interpret(prepared.graph, prepared.data).outputs
    data = fabric_data(netlist, prepared.data, outputs, word_bytes(design))
    lines = {name: text.count("\n") for name, text in data.items()}
    top = f"{design.module}_bench"
    files = {each.name: each.read_text() for each in bench_parts(design)}
    files[f"{top}.sv"] = bench_text(design, emitted.structure, lines, arrival(netlist))
    bench = Bench(top, [f"bench/{each}" for each in files], [f"bench/{each}" for each in data])
    (directory / "bench").mkdir()
    for name, text in {**files, **data}.items():
        (directory / "bench" / name).write_text(text)
    for name, text in list_files(design.module, emitted.sidecar["files"], [WAIVERS.name], bench).items():
        (directory / name).write_text(text)
