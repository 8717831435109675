"""How designs are cut for the compiler, and that cut designs behave the same."""

from __future__ import annotations

import re
import subprocess

import pytest
from designs import port, write_design

from cosim.building import design as hierarchy
from cosim.building.build import verilator_flags
from cosim.building.compiling import simulator_main
from cosim.building.design import Hierarchy, load_design
from cosim.building.toolchain import find_toolchain
from cosim.running.bench_run import simulate

LEAF = (
    """module leaf(
  input wire clk,
  input wire rst,
  input wire [7:0] i,
  input wire start,
  output reg [7:0] o
);
"""
    + "  // padding\n" * 500
    + """  always_ff @(posedge clk) o <= start ? i : o + (i ^ 3);
endmodule
"""
)


def instances(module: str, count: int) -> str:
    return "".join(f"  {module} \\{module}.{n}  (\n    .clk(clk)\n  );\n" for n in range(count))


def test_modules_are_counted_in_the_flattened_design(tmp_path):
    node = f"module \\my.node (clk);\n  input clk;\n{instances('leaf', 5)}endmodule\n"
    top = f"module fabric(clk);\n  input clk;\n{instances(chr(92) + 'my.node', 3)}endmodule\n"
    design = write_design(tmp_path, LEAF + node + top, hierarchical=["my.node", "absent"])
    cut = Hierarchy(load_design(design))
    assert cut.uses == {"fabric": 1, "my.node": 3, "leaf": 15}
    assert cut.functions == ["leaf"]
    assert cut.candidates == ["my.node"]
    assert cut.flat_sizes["fabric"] > 15 * cut.sizes["leaf"] > 15 * hierarchy.SMALL_TEXT
    assert cut.control_file(True, ()).splitlines() == [
        "`verilator_config",
        'hier_block -module "my.node"',
        'no_inline -module "leaf"',
        'public_flat_rd -module "leaf" -var "i"',
        'public_flat_rd -module "leaf" -var "start"',
    ]
    assert cut.control_file(False, ["clk"]).splitlines()[-1] == 'public_flat_rw -module "fabric" -var "clk"'


def test_instances_of_a_module_have_one_function_in_common(tmp_path):
    wires = "".join(f"  wire [7:0] o{n};\n" for n in range(9))
    lanes = "".join(
        f"  leaf lane_{n} (\n    .clk(clk), .rst(rst), .i(o{n} + 8'd{n}), .start(begins[{n}]), .o(o{n + 1})\n  );\n"
        for n in range(8)
    )
    head = "module fabric(input wire clk, input wire rst, input wire [7:0] begins, output wire [7:0] o);\n"
    top = f"{head}{wires}{lanes}  assign o0 = begins, o = o8;\nendmodule\n"
    design = load_design(write_design(tmp_path, LEAF + top))
    (tmp_path / "control.vlt").write_text(Hierarchy(design).control_file(False, ()))
    verilator = find_toolchain().verilator
    files = [simulator_main(), "control.vlt", *design.verilog]
    command = [verilator.path, *verilator_flags("fabric", None, False), *files]
    subprocess.run(command, cwd=tmp_path, env=find_toolchain().environment, check=True, capture_output=True)
    text = "".join(path.read_text() for path in (tmp_path / "objects").glob("*.cpp"))
    assert len(re.findall(r"^void Vtop_leaf___nba_sequent\w*\(Vtop_leaf\* vlSelf\) \{", text, re.MULTILINE)) == 1


COUNTERS = """
module counter #(parameter STEP = 1) (input clk, input rst, output reg [31:0] value);
    always @(posedge clk) value <= rst ? 0 : value + STEP;
endmodule
module node(input clk, input rst, output [31:0] value);
    counter #(.STEP(3)) counter (
        .clk(clk), .rst(rst), .value(value)
    );
endmodule
module fabric(
    input clk, input rst, output [31:0] b_tdata, output b_tuser, output b_tlast, output b_tvalid, input b_tready,
    output probe_finished
);
    wire [31:0] one, two;
    node first (
        .clk(clk), .rst(rst), .value(one)
    );
    node second (
        .clk(clk), .rst(rst), .value(two)
    );
    assign b_tdata = one, b_tlast = 1'b1, b_tuser = one + two == 60;
    assign b_tvalid = 1'b1;
    reg left;
    always @(posedge clk) left <= !rst && (left || b_tuser);
    assign probe_finished = left;
endmodule
"""


@pytest.mark.parametrize("large", [0, 1 << 60], ids=["apart", "flat"])
def test_cut_designs_behave_the_same(tmp_path, monkeypatch, large):
    monkeypatch.setattr(hierarchy, "LARGE_DESIGN", large)
    sinks = [port("b", 32)]
    design = write_design(tmp_path, COUNTERS, sinks=sinks, hierarchical=["node"])
    run = simulate(design)
    assert (run.status, run.cycles) == ("finished", 11)
    assert [token >> 2 for token in run.sinks["b"]] == [3 * n for n in range(11)]


def test_waves_show_the_insides(tmp_path, monkeypatch):
    monkeypatch.setattr(hierarchy, "LARGE_DESIGN", 0)
    sinks = [port("b", 32)]
    design = write_design(tmp_path, COUNTERS, sinks=sinks, hierarchical=["node"])
    assert simulate(design, waves=tmp_path / "run.vcd").cycles == 11
    assert "counter" in (tmp_path / "run.vcd").read_text()
