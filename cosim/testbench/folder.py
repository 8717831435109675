"""A fabric with its bench and data, in a folder."""

from __future__ import annotations

from pathlib import Path

from cosim.building.design import load_design
from cosim.running.bench_run import memory_image, source_transfers, write_inputs
from cosim.testbench.data import fabric_data
from cosim.testbench.fabric import bench_parts, bench_text, word_bytes
from hw.design.emit import WAIVERS, EmittedDesign
from hw.verilog.structure import BenchFiles, list_files
from step.host.texts import write_files
from step.lowering.arrival import arrival
from step.programs.prepare import Prepared
from step.running.interpreter import interpret


def write_bench(prepared: Prepared, emitted: EmittedDesign, directory: Path) -> None:
    """Write what simulates ``emitted``, which has probes and is in ``directory``: its bench with data to ``bench/``
    there, and to ``data/`` what a simulator of `cosim.building` reads.

    The FuseSoC core gets the targets ``sim`` and ``sim_icarus``.
    """
    design, netlist = load_design(directory), prepared.netlist
    sources, memory = source_transfers(netlist, prepared.data), memory_image(netlist, prepared.data)
    (directory / "data").mkdir()
    write_inputs(design, directory / "data", sources, memory)
    outputs = interpret(prepared.graph, prepared.data).outputs
    data = fabric_data(netlist, sources, memory, outputs, word_bytes(design))
    lines = {name: text.count("\n") for name, text in data.items()}
    top = f"{design.module}_bench"
    files = {each.name: each.read_text() for each in bench_parts(design)}
    files[f"{top}.sv"] = bench_text(design, emitted.structure, lines, arrival(netlist))
    bench = BenchFiles(top, [f"bench/{each}" for each in files], [f"bench/{each}" for each in data])
    write_files(directory / "bench", {**files, **data})
    write_files(directory, list_files(design.module, emitted.sidecar["files"], [WAIVERS.name], bench))
