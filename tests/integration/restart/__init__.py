"""A fabric in front of cosim's memory that is reset at any time, without any Python between the cycles."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from cosim.building import harness
from cosim.building.build import NO_OPTIMIZATION, Common
from cosim.building.design import BenchDesign, StreamPort
from cosim.building.toolchain import find_toolchain
from cosim.running.bench_run import write_inputs
from hw.verilog.modules import separated
from step.lowering.off_chip import MemoryConfig

MEMORY = [path for path in harness.HARDWARE if path.name.startswith("sim_memory")]


def build(design: BenchDesign, directory: Path, sources: Mapping[str, Sequence[int]]) -> Path:
    """Make the program of ``bench.cpp`` around ``design``, whose sources play ``sources`` in every run."""
    tools = find_toolchain()
    for port in design.sources:
        (directory / f"{port.port}.hex").write_text("\n".join(f"{each:x}" for each in sources[port.name]))
    counts = {name: len(each) for name, each in sources.items()}
    (directory / "restarting.sv").write_text(_bench(design, directory, counts))
    files = ["restarting.sv", *design.verilog, *MEMORY, *design.cpp, Path(__file__).with_name("bench.cpp")]
    flags = ["--cc", "--exe", "--top-module", "restarting", "-Mdir", "objects", "--no-timing"]
    flags += ["-Wno-fatal", "-Wno-lint", "-Wno-style"]
    library = Common(tools, NO_OPTIMIZATION).runtime()
    there = " ".join(str(library / f"verilated{part}.o") for part in ("", "_dpi", "_threads"))
    levels = ["OPT_FAST=-O1", "OPT_SLOW=-O0", "VM_GLOBAL_FAST=", "VM_GLOBAL_SLOW=", f"USER_LDLIBS={there}"]
    commands = [
        [str(tools.verilator.path), *flags, *map(str, files)],
        [tools.make, "-C", "objects", "-f", "Vrestarting.mk", *tools.make_variables, *levels],
    ]
    for command in commands:
        done = subprocess.run(
            command, cwd=directory, env=tools.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return directory / "objects" / "Vrestarting"


def restarts(
    simulator: Path,
    design: BenchDesign,
    directory: Path,
    sources: Mapping[str, Sequence[int]],
    image: bytes,
    memory: MemoryConfig,
    stops: Iterable[int],
) -> tuple[int, list[str]]:
    """The cycles of a whole run in front of ``memory``, and what is wrong with runs behind those that were stopped."""
    directory.mkdir(exist_ok=True)
    timed = replace(design, memory={**asdict(memory), "beats_total": design.memory["beats_total"]})
    write_inputs(timed, directory, sources, image)
    command = [str(simulator), f"+directory={directory}", *map(str, stops)]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    length, *found = done.stdout.splitlines()
    return int(length), found


def _bench(design: BenchDesign, directory: Path, counts: Mapping[str, int]) -> str:
    connections = [(each, each) for each in ("clk", "rst", "done", "fault")] + harness._memory_connections(design)
    body = []
    for port in design.sources:
        body += _source(port, directory, counts[port.name])
    for port in design.sinks:
        body += _sink(port)
    for port in (*design.sources, *design.sinks):
        connections += [(name, name) for name in (*port.parts, f"{port.port}_tvalid", f"{port.port}_tready")]
    memory = harness._memory(design, len(design.reads), len(design.writes)).splitlines()
    wires = [line for line in memory if "powered" not in line and "wire memory_rst" not in line]
    ends = [f"{port.port}_finished" for port in design.sinks]
    wrongs = [f"{port.port}_wrong" for port in design.sinks]
    lines = [
        "module restarting (",
        "    input logic clk, input logic rst, input logic memory_rst,",
        "    input logic restore,  // memory has what it had at the begin",
        "    input logic damaged,  // or the opposite of it",
        "    input logic learns,   // this is how it is right",
        "    output logic over, output logic wrong",
        ");",
        "    wire running = 1'b1, done;",
        "    wire [3:0] fault;",
        *wires,
        *body,
        f"    {design.module} fabric (",
        *separated(f"        .{port}({net})" for port, net in connections),
        "    );",
        f"    logic [{8 * design.memory['beat_bytes'] - 1}:0] begin_with [{design.memory['beats_total']}];",
        f"    logic [{8 * design.memory['beat_bytes'] - 1}:0] end_with [{design.memory['beats_total']}];",
        "    logic begun = 1'b0, changed = 1'b0;",
        "    always @(posedge clk) begin",
        "        if (!begun) begin_with = memory.memory;",
        "        begun <= 1'b1;",
        f"        for (int beat = 0; beat < {design.memory['beats_total']}; beat++) begin",
        "            if (restore && begun) memory.memory[beat] = damaged ? ~begin_with[beat] : begin_with[beat];",
        "            if (learns && over) end_with[beat] <= memory.memory[beat];",
        "        end",
        "        changed <= over && !learns && memory.memory != end_with;",
        "    end",
        f"    assign over = done && !writing && {' && '.join(ends)};",
        f"    assign wrong = changed || fault != 0 || {' || '.join(wrongs)};",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _wires(port: StreamPort) -> list[str]:
    parts = [f"    wire [{width - 1}:0] {port.port}_{part};" for part, width in port.widths]
    return [*parts, f"    wire {port.port}_tvalid, {port.port}_tready;"]


def _source(port: StreamPort, directory: Path, count: int) -> list[str]:
    stem = port.port
    return [
        *_wires(port),
        f"    logic [{port.bits - 1}:0] {stem}_all [{count}];",
        f"    int {stem}_at = 0;",
        f'    initial $readmemh("{directory}/{stem}.hex", {stem}_all);',
        f"    assign {stem}_tvalid = !rst && {stem}_at < {count};",
        f"    assign {{{', '.join(port.parts)}}} = {stem}_all[{stem}_at < {count} ? {stem}_at : 0];",
        f"    always_ff @(posedge clk) if (rst) {stem}_at <= 0; else if ({stem}_tvalid && {stem}_tready)",
        f"        {stem}_at <= {stem}_at + 1;",
    ]


def _sink(port: StreamPort) -> list[str]:
    stem = port.port
    return [
        *_wires(port),
        f"    logic [{port.bits - 1}:0] {stem}_right [1024];",
        f"    int {stem}_at = 0;",
        f"    logic {stem}_finished = 1'b0, {stem}_wrong = 1'b0;",
        f"    wire [{port.bits - 1}:0] {stem}_transfer = {{{', '.join(port.parts)}}};",
        f"    assign {stem}_tready = 1'b1;",
        f"    always_ff @(posedge clk) if (rst) begin {stem}_at <= 0; {stem}_finished <= 0; {stem}_wrong <= 0; end",
        f"        else if ({stem}_tvalid) begin",
        f"            if (learns) {stem}_right[{stem}_at] <= {stem}_transfer;",
        f"            else if ({stem}_right[{stem}_at] != {stem}_transfer) {stem}_wrong <= 1'b1;",
        f"            {stem}_at <= {stem}_at + 1;",
        f"            {stem}_finished <= {stem}_tuser[0];",
        "        end",
    ]
