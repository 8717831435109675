"""A fabric before a memory in a simulator of four states (Icarus Verilog), which says what is unknown (X) at its ports.

Registers and memories are unknown until something is written. What is offered must be known, whole, in every cycle
from the reset on: with ``valid`` what goes with it, and ``valid``, ``ready`` and the status always.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cosim.building.design import BenchDesign, PortFacts, StreamPort

ICARUS = shutil.which("iverilog")

LATENCY = 9


def unknown_at_ports(
    design: BenchDesign, directory: Path, sources: Mapping[str, Sequence[int]], memory: bytes, *, cycles: int
) -> tuple[list[str], dict[str, list[int]], bool]:
    """Ports that had an X after the reset, the transfers that each sink handed out, and whether it was done."""
    beat = design.memory["beat_bytes"]
    beats = [memory[at : at + beat][::-1].hex() for at in range(0, len(memory), beat)]
    (directory / "memory").write_text("\n".join(beats or ["0"]))
    for port in design.sources:
        (directory / f"source.{port.name}").write_text("\n".join(f"{each:x}" for each in sources[port.name]))
    (directory / "bench.sv").write_text(_bench(design, {name: len(each) for name, each in sources.items()}, cycles))
    files = [str(path) for path in design.verilog]
    command = [str(ICARUS), "-g2012", "-o", "bench.vvp", "-s", "bench", "bench.sv", *files]
    subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True)
    done = subprocess.run(
        ["vvp", "-n", "bench.vvp"], cwd=directory, check=True, capture_output=True, text=True, timeout=600
    )
    unknown, sinks = set(), dict[str, list[int]]({port.name: [] for port in design.sinks})
    for line in done.stdout.splitlines():
        match line.split():
            case ["unknown", name]:
                unknown.add(name)
            case ["taken", name, transfer]:
                sinks[name].append(int(transfer, 16))
    return sorted(unknown), sinks, "done" in done.stdout.splitlines()


def _bench(design: BenchDesign, counts: Mapping[str, int], cycles: int) -> str:
    bits, size = 8 * design.memory["beat_bytes"], max(1, design.memory["beats_total"])
    body, ports, checks = [], [".clk", ".rst"], [("1'b1", "done"), ("1'b1", "fault"), ("1'b1", "fault_unit")]
    for port in design.sources:
        body += _source(port, counts[port.name])
        checks += [("1'b1", f"{port.port}_tready")]
    for port in design.sinks:
        body += _sink(port)
        checks += [("1'b1", f"{port.port}_tvalid")] + [(f"{port.port}_tvalid", each) for each in port.parts]
    for stream in (*design.sources, *design.sinks):
        ports += [f".{each}" for each in (*stream.parts, f"{stream.port}_tvalid", f"{stream.port}_tready")]
    for read in design.reads:
        body += _read(read, bits)
        ports += [f".{read.port}__{part}" for part in _READ]
        valid = f"{read.port}__request__valid"
        checks += [("1'b1", valid), (valid, f"{read.port}__request__payload")]
    for write in design.writes:
        body += _write(write, bits)
        ports += [f".{write.port}__{part}" for part in (*_WRITE, *(["written"] if write.acknowledged else []))]
        checks += [("1'b1", f"{write.port}__valid"), (f"{write.port}__valid", f"{write.port}__payload")]
    ports += [".done", ".fault", ".fault_unit", *([".memory_rst(rst)"] if design.reads or design.writes else [])]
    looks = [f'      if ({valid} && ^{name} === 1\'bx) $display("unknown {name}");' for valid, name in checks]
    lines = [
        "module bench;",
        "  reg clk = 0, rst = 1;",
        "  wire done; wire [3:0] fault;",
        f"  wire [{max(1, (len(design.units) - 1).bit_length()) - 1}:0] fault_unit;",
        "  integer cycle = 0;",
        f"  reg [{bits - 1}:0] memory [0:{size - 1}];",
        '  initial $readmemh("memory", memory);',
        *body,
        f"  {design.module} fabric ({', '.join(ports)});",
        "  always #1 clk = ~clk;",
        "  always @(negedge clk) begin",
        "    cycle <= cycle + 1;",
        "    if (cycle == 3) rst <= 0;",
        "    if (!rst) begin",
        *looks,
        "    end",
        f'    if (cycle == {cycles}) begin if (done === 1\'b1) $display("done"); $finish; end',
        "  end",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _stream(port: StreamPort) -> list[str]:
    return [
        *([f"  wire [{port.data_bits - 1}:0] {port.port}_tdata;"] if port.data_bits else []),
        f"  wire [{port.user_bits - 1}:0] {port.port}_tuser;",
        f"  wire {port.port}_tlast, {port.port}_tvalid, {port.port}_tready;",
    ]


def _source(port: StreamPort, count: int) -> list[str]:
    stem = port.port
    return [
        *_stream(port),
        f"  reg [{port.bits - 1}:0] {stem}_all [0:{count}]; integer {stem}_at = 0;",
        f'  initial $readmemh("source.{port.name}", {stem}_all, 0, {count - 1});',
        f"  assign {stem}_tvalid = !rst && {stem}_at < {count};",
        f"  assign {{{', '.join(port.parts)}}} = {stem}_all[{stem}_at];",
        f"  always @(posedge clk) if ({stem}_tvalid && {stem}_tready) {stem}_at <= {stem}_at + 1;",
    ]


def _sink(port: StreamPort) -> list[str]:
    stem, parts = port.port, ", ".join(port.parts)
    return [
        *_stream(port),
        f"  assign {stem}_tready = cycle % 3 != 0;",
        f"  always @(posedge clk) if (!rst && {stem}_tvalid && {stem}_tready)",
        f'    $display("taken {port.name} %h", {{{parts}}});',
    ]


_READ = ("request__payload", "request__valid", "request__ready", "response__payload", "response__valid")
_WRITE = ("payload", "valid", "ready")


def _read(port: PortFacts, bits: int) -> list[str]:
    """A beat a cycle: the request is taken with its last one."""
    stem = port.port
    return [
        f"  wire [31:0] {stem}__request__payload; wire {stem}__request__valid;",
        f"  reg [{bits}:0] {stem}_line [0:{LATENCY - 1}]; integer {stem}_beat = 0, {stem}_place;",
        f"  initial for ({stem}_place = 0; {stem}_place < {LATENCY}; {stem}_place = {stem}_place + 1)",
        f"    {stem}_line[{stem}_place] = 0;",
        f"  wire {stem}__request__ready = {stem}__request__valid && {stem}_beat == {port.size_beats - 1};",
        f"  wire [{bits - 1}:0] {stem}__response__payload = {stem}_line[cycle % {LATENCY}][{bits}:1];",
        f"  wire {stem}__response__valid = {stem}_line[cycle % {LATENCY}][0];",
        "  always @(posedge clk) begin",
        f"    {stem}_line[cycle % {LATENCY}] <= {{memory[{stem}__request__payload + {stem}_beat],",
        f"      {stem}__request__valid && !rst}};",
        f"    {stem}_beat <= {stem}__request__valid && !{stem}__request__ready ? {stem}_beat + 1 : 0;",
        "  end",
    ]


def _write(port: PortFacts, bits: int) -> list[str]:
    stem = port.port
    return [
        f"  wire [{bits + 31}:0] {stem}__payload; wire {stem}__valid;",
        f"  wire {stem}__ready = cycle % 4 != 0;",
        f"  reg [{bits + 32}:0] {stem}_line [0:{LATENCY - 1}]; integer {stem}_place;",
        f"  initial for ({stem}_place = 0; {stem}_place < {LATENCY}; {stem}_place = {stem}_place + 1)",
        f"    {stem}_line[{stem}_place] = 0;",
        f"  wire {stem}__written = {stem}_line[cycle % {LATENCY}][0];",
        "  always @(posedge clk) begin",
        f"    {stem}_line[cycle % {LATENCY}] <= {{{stem}__payload, {stem}__valid && {stem}__ready && !rst}};",
        f"    if ({stem}_line[cycle % {LATENCY}][0])",
        f"      memory[{stem}_line[cycle % {LATENCY}][32:1]] <= {stem}_line[cycle % {LATENCY}][{bits + 32}:33];",
        "  end",
    ]
