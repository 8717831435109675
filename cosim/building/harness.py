"""The bench around a fabric: sources, sinks, memory and monitor in Verilog, made from the design.

The text is the same for the same design, and holds nothing of the data: one build serves every run.
"""

from __future__ import annotations

from pathlib import Path

from cosim.building.buses import buses
from cosim.building.design import BenchDesign, StreamPort
from hw.memory.port import MEMORY_RESET
from hw.verilog.structure import separated

TOP = "bench"

HARDWARE = tuple(
    Path(__file__).parent / "verilog" / name
    for name in (
        "sim_source.sv",
        "sim_sink.sv",
        "sim_memory.sv",
        "sim_monitor.sv",
        "sim_memory_timing.cpp",
        "sim_log.cpp",
    )
)
"""The simulation hardware that the bench instantiates."""

HELPERS = tuple(path for path in HARDWARE if path.suffix == ".cpp")
"""What of it is C++, and knows nothing of the design."""

BUSES = Path(__file__).parent / "verilog" / "sim_axi.sv"
"""What stands between masters and the memory."""


def hardware(design: BenchDesign) -> tuple[Path, ...]:
    """All that the bench of ``design`` instantiates."""
    return HARDWARE if design.buses is None else (*HARDWARE, BUSES)


def bench_text(design: BenchDesign) -> str:
    """SystemVerilog of the module `TOP`: the fabric, with all that it needs to run by itself.

    Its ports are ``clk`` and ``reset`` in, ``ended`` out; all else goes through files (see the modules).
    """
    shared = design.buses is not None
    power = "power_on" if shared else "rst"
    connections = [("clk", "clk"), ("rst", power)]
    body = [
        "    wire running;",
        f"    logic {power} = 1'b1;  // a register: nothing else depends on an input without a clock",
        f"    always_ff @(posedge clk) {power} <= reset;",
        *(["    wire rst;  // that of the fabric, which its masters give"] if shared else []),
        "",
    ]
    for port in design.sources:
        body += _source(port)
        connections += _stream_connections(port)
    for port in design.sinks:
        body += _sink(port)
        connections += _stream_connections(port)
    if design.buses is not None:
        lines, more = buses(design, design.buses)
        body += [*_memory(design, len(design.buses.reads), len(design.buses.writes)), *lines]
        connections += more
    elif design.reads or design.writes:
        body += _memory(design, len(design.reads), len(design.writes))
        connections += _memory_connections(design)
    else:
        body += ["    wire waiting = 1'b0, reading = 1'b0, writing = 1'b0;", ""]
    body += _monitor(design)
    connections += _probe_connections(design)
    lines = [
        f"// Bench of {design.module}: the fabric with simulation hardware at every port. Generated; do not edit.",
        f"module {TOP} (",
        "    input  logic clk   /* verilator public_flat_rw */,",
        "    input  logic reset /* verilator public_flat_rw */,",
        "    output logic ended /* verilator public_flat_rd */",
        ");",
        *body,
        f"    {design.module} fabric (",
        *separated(f"        .{port}({signal})" for port, signal in connections),
        "    );",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _stream_connections(port: StreamPort) -> list[tuple[str, str]]:
    return [(name, name) for name in (*port.parts, f"{port.port}_tvalid", f"{port.port}_tready")]


def _stream(port: StreamPort) -> list[str]:
    stem = port.port
    return [
        *([f"    wire [{port.data_bits - 1}:0] {stem}_tdata;"] if port.data_bits else []),
        f"    wire [{port.user_bits - 1}:0] {stem}_tuser;",
        f"    wire {stem}_tlast, {stem}_tvalid, {stem}_tready;",
    ]


def _source(port: StreamPort) -> list[str]:
    stem = port.port
    return [
        *_stream(port),
        f'    sim_source #(.NAME("{port.name}"), .BITS({port.bits})) {stem}__source (',
        f"        .clk, .rst, .transfer({{{', '.join(port.parts)}}}), .valid({stem}_tvalid), .ready({stem}_tready)",
        "    );",
        "",
    ]


def _sink(port: StreamPort) -> list[str]:
    stem = port.port
    return [
        *_stream(port),
        f'    sim_sink #(.NAME("{port.name}"), .BITS({port.bits})) {stem}__sink (',
        f"        .clk, .rst, .transfer({{{', '.join(port.parts)}}}), .valid({stem}_tvalid), .ready({stem}_tready),",
        "        .running",
        "    );",
        "",
    ]


def _memory(design: BenchDesign, read_ports: int, write_ports: int) -> list[str]:
    """The memory; behind masters each request is for one beat."""
    memory = design.memory
    beat = 8 * memory["beat_bytes"]
    reads, writes = max(1, read_ports), max(1, write_ports)
    beats = [port.size_beats for port in reversed(design.reads)] if design.buses is None else [1] * read_ports
    sizes = ", ".join(f"32'd{each}" for each in beats) or "32'd0"
    return [
        "    logic powered = 1'b0;  // memory is reset at power-on, and never with the fabric",
        "    always_ff @(posedge clk) powered <= powered | ~rst;",
        f"    wire {MEMORY_RESET} = rst & ~powered;",
        f"    wire [31:0] request [{reads}];",
        f"    wire request_valid [{reads}], request_ready [{reads}];",
        f"    wire [{beat - 1}:0] response [{reads}];",
        f"    wire response_valid [{reads}];",
        f"    wire [{beat + 31}:0] write [{writes}];",
        f"    wire write_valid [{writes}], write_ready [{writes}], written [{writes}];",
        "    wire waiting, reading, writing;",
        *([] if read_ports else ["    assign request[0] = '0, request_valid[0] = 1'b0;"]),
        *([] if write_ports else ["    assign write[0] = '0, write_valid[0] = 1'b0;"]),
        "    sim_memory #(",
        f"        .BYTES({memory['beat_bytes']}), .BEATS({max(1, memory['beats_total'])}),",
        f"        .READS({read_ports}), .WRITES({write_ports}), .REQUEST_BEATS({{{sizes}}})",
        f"    ) memory (.rst({MEMORY_RESET}), .*);",
        "",
    ]


def _memory_connections(design: BenchDesign) -> list[tuple[str, str]]:
    connections = [(MEMORY_RESET, MEMORY_RESET)]
    for number, port in enumerate(design.reads):
        connections += [
            (f"{port.port}__request__payload", f"request[{number}]"),
            (f"{port.port}__request__valid", f"request_valid[{number}]"),
            (f"{port.port}__request__ready", f"request_ready[{number}]"),
            (f"{port.port}__response__payload", f"response[{number}]"),
            (f"{port.port}__response__valid", f"response_valid[{number}]"),
        ]
    for number, port in enumerate(design.writes):
        connections += [
            (f"{port.port}__payload", f"write[{number}]"),
            (f"{port.port}__valid", f"write_valid[{number}]"),
            (f"{port.port}__ready", f"write_ready[{number}]"),
            *([(f"{port.port}__written", f"written[{number}]")] if port.acknowledged else []),
        ]
    return connections


def _monitor(design: BenchDesign) -> list[str]:
    channels, units, buffers = (max(1, len(each)) for each in (design.channels, design.units, design.buffers))
    return [
        f"    wire [{channels - 1}:0] probe_enter, probe_leave;",
        f"    wire [{10 * channels - 1}:0] probe_token;",
        f"    wire [{2 * units - 1}:0] probe_activity;",
        f"    wire [{4 * units - 1}:0] probe_fault;",
        f"    wire [{16 * buffers - 1}:0] probe_pages;",
        "    wire probe_finished;",
        *([] if design.channels else ["    assign probe_enter = '0, probe_leave = '0, probe_token = '0;"]),
        *([] if design.units else ["    assign probe_activity = '0, probe_fault = '0;"]),
        *([] if design.buffers else ["    assign probe_pages = '0;"]),
        f"    sim_monitor #(.CHANNELS({channels}), .UNITS({units}), .BUFFERS({buffers}),",
        f"        .SETTLING({design.settling_cycles})) monitor (",
        "        .clk, .rst, .enter(probe_enter), .leave(probe_leave), .token(probe_token),",
        "        .activity(probe_activity), .fault(probe_fault), .pages(probe_pages),",
        f"        .finished(probe_finished && !writing{' && !probe_writing' if design.buses else ''}),",
        "        .memory_moves(waiting || reading || writing),",
        "        .running, .ended",
        "    );",
        "",
    ]


def _probe_connections(design: BenchDesign) -> list[tuple[str, str]]:
    names = ["probe_finished"]
    names += ["probe_enter", "probe_leave", "probe_token"] if design.channels else []
    names += ["probe_activity", "probe_fault"] if design.units else []
    names += ["probe_pages"] if design.buffers else []
    return [(name, name) for name in names]
