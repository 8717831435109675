"""How designs are cut for the compiler, and that cut designs behave the same."""

from __future__ import annotations

import pytest
from designs import port, write_design

from cosim import hierarchy
from cosim.design import load_design
from cosim.hierarchy import Hierarchy
from cosim.simulator import simulate

LEAF = "module leaf(clk, o);\n  input clk;\n  output o;\n" + "  // padding\n" * 500 + "  assign o = clk;\nendmodule\n"


def instances(module: str, count: int) -> str:
    return "".join(f"  {module} \\{module}.{n}  (\n    .clk(clk)\n  );\n" for n in range(count))


def test_modules_are_counted_in_the_flattened_design(tmp_path):
    node = f"module \\my.node (clk);\n  input clk;\n{instances('leaf', 5)}endmodule\n"
    top = f"module fabric(clk);\n  input clk;\n{instances(chr(92) + 'my.node', 3)}endmodule\n"
    design = write_design(tmp_path, LEAF + node + top, hierarchical=["my.node", "absent"])
    cut = Hierarchy.of(load_design(design))
    assert cut.uses == {"fabric": 1, "my.node": 3, "leaf": 15}
    assert cut.functions == ["leaf"]
    assert cut.candidates == ("my.node",)
    assert cut.flat_sizes["fabric"] > 15 * cut.sizes["leaf"] > 15 * hierarchy.SMALL_TEXT
    assert cut.control_file(True, ()).splitlines() == [
        "`verilator_config",
        'hier_block -module "my.node"',
        'no_inline -module "leaf"',
    ]
    assert cut.control_file(False, ["clk"]).splitlines()[-1] == 'public_flat_rw -module "fabric" -var "clk"'


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
