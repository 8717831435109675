"""Small fabrics by hand, which stand in for generated ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CHANNEL = """
// A registered FIFO with two slots.
module channel #(parameter BITS = 8) (
    input clk, input rst,
    input [BITS-1:0] i_payload, input i_valid, output i_ready,
    output [BITS-1:0] o_payload, output o_valid, input o_ready
);
    reg [BITS-1:0] slots [0:1];
    reg [1:0] level;
    reg head;
    assign i_ready = level != 2;
    assign o_valid = level != 0;
    assign o_payload = slots[head];
    always @(posedge clk)
        if (rst) begin level <= 0; head <= 0; end
        else begin
            if (i_valid && i_ready) slots[head ^ level[0]] <= i_payload;
            if (o_valid && o_ready) head <= !head;
            level <= level + (i_valid && i_ready) - (o_valid && o_ready);
        end
endmodule
"""

MEMORY = {"beat_bytes": 8, "channels": 2, "interval": 1, "latency": 3, "beats_total": 0}


def write_design(directory: Path, verilog: str, **fields: Any) -> Path:
    """A directory with a Verilog file and its sidecar."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "fabric.v").write_text(verilog)
    sidecar = {
        "module": "fabric", "sources": [], "sinks": [], "reads": [], "writes": [], "channels": [], "units": [],
        "buffers": [], "memory": MEMORY, "settling_cycles": 20, "files": ["fabric.v"], "cpp": [],
        "hierarchical": [], "hash": "",
        **fields,
    }  # fmt: skip
    (directory / "fabric.json").write_text(json.dumps(sidecar))
    return directory


def stream(name: str, data_bits: int, user_bits: int, direction: str) -> str:
    """The ports of an AXI4-Stream."""
    back = "output" if direction == "input" else "input"
    return (
        f"{direction} [{data_bits - 1}:0] {name}_tdata, {direction} [{user_bits - 1}:0] {name}_tuser,"
        f" {direction} {name}_tlast, {direction} {name}_tvalid, {back} {name}_tready"
    )


def port(name: str, data_bits: int, user_bits: int = 1) -> dict[str, Any]:
    """An AXI4-Stream in the sidecar."""
    return {"name": name, "port": name, "data_bits": data_bits, "user_bits": user_bits}


def pass_through(directory: Path, bits: int = 16) -> Path:
    """source a -> channel 0 -> unit -> channel 1 -> sink b.

    The unit passes a token on in the cycle in which it reads it, with exceptions by the data of the token:
    0xDEAD stops it for good, 0xBAD makes it report fault 5.
    """
    width = bits + 4
    verilog = (
        CHANNEL
        + f"""
module fabric(
    input clk, input rst,
    {stream("a", bits, 3, "input")},
    {stream("b", bits, 3, "output")},
    output [1:0] probe_enter, output [1:0] probe_leave, output [19:0] probe_token,
    output [1:0] probe_activity, output [3:0] probe_fault, output probe_finished
);
    wire [{width - 1}:0] x_payload;
    wire x_valid, y_ready;
    wire [{bits - 1}:0] data = x_payload[{width - 1}:4];
    reg finished, left;
    wire stuck = data == 'hDEAD || data == 'hBAD;
    wire fire = x_valid && y_ready && !stuck && !finished;
    channel #(.BITS({width})) x (
        .clk(clk), .rst(rst), .i_payload({{a_tdata, a_tlast, a_tuser}}), .i_valid(a_tvalid), .i_ready(a_tready),
        .o_payload(x_payload), .o_valid(x_valid), .o_ready(fire)
    );
    channel #(.BITS({width})) y (
        .clk(clk), .rst(rst), .i_payload(x_payload), .i_valid(fire), .i_ready(y_ready),
        .o_payload({{b_tdata, b_tlast, b_tuser}}), .o_valid(b_tvalid), .o_ready(b_tready)
    );
    always @(posedge clk) if (rst) finished <= 0; else if (fire && x_payload[0]) finished <= 1;
    always @(posedge clk) if (rst) left <= 0; else if (b_tvalid && b_tready && b_tuser[0]) left <= 1;
    assign probe_enter = {{fire, a_tvalid && a_tready}};
    assign probe_leave = {{b_tvalid && b_tready, fire}};
    assign probe_token = {{7'b0, x_payload[2:0], 7'b0, a_tuser}};
    assign probe_activity = finished ? 2'd3 : !x_valid ? 2'd0 : fire ? 2'd1 : 2'd2;
    assign probe_fault = x_valid && data == 'hBAD ? 4'd5 : 4'd0;
    assign probe_finished = left;
endmodule
"""
    )
    return write_design(
        directory, verilog,
        sources=[port("a", bits, 3)],
        sinks=[port("b", bits, 3)],
        channels=[{"name": "a", "capacity": 2}, {"name": "b", "capacity": 2}],
        units=[{"name": "pass", "operator": "pass"}],
    )  # fmt: skip


def payload(value: int, stop: int = 0) -> int:
    """A value with one bit of stop, in one transfer: user, last, data."""
    return value << 4 | 1 << 3 | stop << 2 | 0b010


DONE = 0b1001


def memory_ports(directory: Path, sizes: list[int], writes: int, memory: dict[str, int]) -> Path:
    """Read and write ports that are driven by sources, as fast as the memory takes requests.

    Source r0, r1, ...: {gap 8, address 32} for a request of ``sizes[i]`` beats; w0, ...: {gap 8, data, address 32};
    the request is presented ``gap`` cycles after it could have been. Sink s0, ...: data, never done.
    Channel i: enter = request i (beat, for a write) is taken, leave = a beat is on response i, or can be read.
    """
    beat = 8 * memory["beat_bytes"]
    reads = len(sizes)
    ports, body = [], []
    for index, width in enumerate([40] * reads + [40 + beat] * writes):
        source = f"r{index}" if index < reads else f"w{index - reads}"
        memory_port = f"p{index}__request" if index < reads else f"p{index}"
        ports += [stream(source, width, 1, "input")]
        ports += [
            f"output [{width - 9}:0] {memory_port}__payload",
            f"output {memory_port}__valid",
            f"input {memory_port}__ready",
        ]
        if index >= reads:
            ports += [f"input {memory_port}__written"]
        if index < reads:
            ports += [f"input [{beat - 1}:0] p{index}__response__payload", f"input p{index}__response__valid"]
            ports += [stream(f"s{index}", beat, 1, "output")]
            body += [f"assign s{index}_tdata = p{index}__response__payload, s{index}_tuser = 0, s{index}_tlast = 1;"]
            body += [f"assign s{index}_tvalid = p{index}__response__valid;"]
            body += [f"assign probe_leave[{index}] = p{index}__response__valid;"]
        else:
            body += [f"assign probe_leave[{index}] = {memory_port}__written;"]
        body += [
            f"reg [7:0] waited{index};",
            f"assign {memory_port}__payload = {source}_tdata[{width - 9}:0];",
            f"assign {memory_port}__valid = {source}_tvalid"
            f" && waited{index} == {source}_tdata[{width - 1}:{width - 8}];",
            f"assign {source}_tready = {memory_port}__valid && {memory_port}__ready;",
            f"always @(posedge clk) if (rst || {source}_tready) waited{index} <= 0;",
            f"    else if ({source}_tvalid && !{memory_port}__valid) waited{index} <= waited{index} + 1;",
            f"assign probe_enter[{index}] = {source}_tready;",
        ]
    count = reads + writes
    text = f"""
module fabric(
    input clk, input rst, input memory_rst, {", ".join(ports)},
    output [{count - 1}:0] probe_enter, output [{count - 1}:0] probe_leave, output [{10 * count - 1}:0] probe_token,
    output probe_finished
);
    assign probe_token = 0;
    assign probe_finished = 1'b0;
    {chr(10).join(body)}
endmodule
"""
    region = {"base": 0, "beats": memory["beats_total"]}
    return write_design(
        directory, text,
        sources=[port(f"r{i}", 40) for i in range(reads)]
        + [port(f"w{i}", 40 + beat) for i in range(writes)],
        sinks=[port(f"s{i}", beat) for i in range(reads)],
        reads=[{"name": f"p{i}", "port": f"p{i}", "size_beats": size, **region} for i, size in enumerate(sizes)],
        writes=[{"name": f"p{reads + i}", "port": f"p{reads + i}", "size_beats": 1, "acknowledged": True, **region}
                for i in range(writes)],
        channels=[{"name": f"c{i}", "capacity": 1} for i in range(count)],
        memory=memory,
    )  # fmt: skip


def nothing(directory: Path) -> Path:
    """A fabric without any port, channel or unit."""
    return write_design(
        directory,
        "module fabric(input clk, input rst, output probe_finished); assign probe_finished = 1'b1; endmodule\n",
    )
