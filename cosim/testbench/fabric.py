"""The bench of a fabric with probes: SystemVerilog that plays its data, and compares what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cosim.building.build import READ_PORT, WRITE_PORT
from cosim.building.design import BenchDesign, StreamPort
from cosim.testbench.axi import AXI_MEMORY, axi_memory
from hw.verilog.structure import MEMORY_RESET, Structure, separated
from step.host.texts import filled

_HERE = Path(__file__).parent / "verilog"
STREAMS = _HERE / "step_stream_source.sv", _HERE / "step_stream_sink.sv"
PORT_MEMORY = _HERE / "step_port_memory.sv"

STILL = 1 << 14
"""Cycles without movement, after which the bench gives up."""


def bench_parts(design: BenchDesign) -> tuple[Path, ...]:
    """Modules that the bench of ``design`` instantiates."""
    memory = AXI_MEMORY if design.buses is not None else PORT_MEMORY
    return (*STREAMS, memory) if design.has_memory else STREAMS


def word_bytes(design: BenchDesign) -> int:
    """Bytes of a word of the bench's memory."""
    return int(design.memory["beat_bytes"]) if design.buses is None else design.buses.bytes


def bench_text(design: BenchDesign, top: Structure, lines: Mapping[str, int], hint: str | None) -> str:
    """The module ``MODULE_bench`` around ``top``, the module of ``design``; it ends with PASSED or FAILED.

    ``lines``: of each file of data. ``hint`` is told where data differs.
    """
    wires = {name: width for name, (_, width) in top.ports.items() if name.startswith("probe_")}
    nets = {"clk": "clk", "rst": "rst", "soft_reset": "1'b0", "fabric_reset": "reset"} | {each: each for each in wires}
    body = [f"  wire [{width - 1}:0] {name};" for name, width in wires.items()]
    body.append("  wire reset;" if design.buses is not None else "  wire reset = rst;")
    for port in (*design.sources, *design.sinks):
        body += _stream(port, port in design.sources, lines)
        nets |= {f"{port.port}_{each}": f"{port.port}_{each}" for each in (*dict(port.widths), "tvalid", "tready")}
    words = -(-max(1, design.memory["beats_total"]) * design.memory["beat_bytes"] // word_bytes(design))
    if design.buses is not None:
        memory, more = axi_memory(top, words, 0)
        body, nets = [*body, *memory], nets | more
        width = design.buses.address_bits
        nets |= {f"base_{name}": f"{width}'d{base}" for name, base in design.buses.images.items()}
    elif design.has_memory:
        body += _port_memory(design, words)
        nets |= {MEMORY_RESET: "rst"} | _port_nets(design)
    ports = ["clk", "rst", *top.ports]
    body += [f"  {design.module} fabric (", *separated(f"    .{each}({nets.get(each, '')})" for each in ports), "  );"]
    sinks = [each.port for each in design.sinks]
    last = {name: lines[f"{name}.hex"] - 1 for name in ("memory", "expected") if design.has_memory}
    return filled(
        _HERE / "bench.sv.in",
        module=design.module,
        words=words,
        bits=8 * word_bytes(design),
        body=body,
        still=STILL,
        finished=" && ".join(["probe_finished", *(f"{each}_finished" for each in sinks)]),
        wrong=" + ".join(["0", *(f"{each}_wrong" for each in sinks)]),
        load=filled(_HERE / "load.sv.in", **last).splitlines() if design.has_memory else [],
        compare=(_HERE / "compare.sv.in").read_text().splitlines() if design.has_memory else [],
        hint=hint_line(hint),
    )


def hint_line(hint: str | None) -> str:
    """A line that tells the ``hint`` where data differs, if there is one."""
    if hint is None:
        return ""
    quoted = hint.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'\n        $display("{quoted}: in another order, other data is right, too");'


def _stream(port: StreamPort, is_source: bool, lines: Mapping[str, int]) -> list[str]:
    stem, module = port.port, "step_stream_source" if is_source else "step_stream_sink"
    file = f"{module.removeprefix('step_stream_')}_{port.name}"
    body = [f"  wire [{width - 1}:0] {stem}_{part};" for part, width in port.widths]
    body.append(f"  wire {stem}_tvalid, {stem}_tready;")
    connections = [".clk(clk)", ".rst(reset)", f".transfer({{{', '.join(port.parts)}}})"]
    connections += [f".valid({stem}_tvalid)", f".ready({stem}_tready)"]
    if not is_source:
        body += [f"  wire {stem}_finished;", f"  wire [31:0] {stem}_wrong;"]
        connections += [f".finished({stem}_finished)", f".wrong({stem}_wrong)"]
    parameters = f'.BITS({port.bits}), .TRANSFERS({lines[f"{file}.hex"]}), .FILE("{file}")'
    return [*body, f"  {module} #({parameters}) {stem}__bench (", f"    {', '.join(connections)}", "  );", ""]


def _port_nets(design: BenchDesign) -> dict[str, str]:
    """Connections of the memory ports of the fabric."""
    nets, beat = dict[str, str](), 8 * design.memory["beat_bytes"]
    for ports, members in ((design.reads, READ_PORT), (design.writes, WRITE_PORT)):
        for at, port in enumerate(ports):
            for net, member in members.items():
                width = _width(net, beat)
                nets[f"{port.port}__{member}"] = f"{net}[{at * width} +: {width}]"
    return nets


def _width(net: str, beat: int) -> int:
    """Bits of a port's part of a net of the memory."""
    return {"request": 32, "response": beat, "write": beat + 32}.get(net, 1)


def _port_memory(design: BenchDesign, words: int) -> list[str]:
    beat = 8 * design.memory["beat_bytes"]
    reads, writes = max(1, len(design.reads)), max(1, len(design.writes))
    lines = list[str]()
    for count, ports, members in ((reads, design.reads, READ_PORT), (writes, design.writes, WRITE_PORT)):
        lines += [f"  wire [{count * _width(net, beat) - 1}:0] {net};" for net in members]
        if not ports:
            lines.append(f"  assign {next(each for each in members if each.endswith('_valid'))} = 0;")
    sizes = ", ".join(f"32'd{port.size_beats}" for port in reversed(design.reads)) or "32'd1"
    lines += [
        "  step_port_memory #(",
        f"    .READS({reads}), .WRITES({writes}), .BYTES({beat // 8}), .WORDS(WORDS), .REQUEST_BEATS({{{sizes}}})",
        "  ) memory (",
        f"    .clk(clk), .rst(rst), {', '.join(f'.{each}({each})' for each in (*READ_PORT, *WRITE_PORT))}",
        "  );",
        "",
    ]
    return lines
