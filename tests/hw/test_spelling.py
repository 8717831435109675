"""Verilog as a person would write it: what is changed, and what must not be."""

from __future__ import annotations

import re

import pytest
from scenarios import FABRIC, SCENARIOS, Scenario

from hw.emit import emit
from hw.spelling import plain_spelling, without_initial_values
from step.language.graph import Graph
from step.lowering.netlist import lower

WRITTEN = r"""module sample_1(a, b, rst, clk);
  wire [1:0] \$1 ;
  wire \$10 ;
  wire \$2 ;
  reg [7:0] \$3 ;
  wire \sum$7 ;
  wire \token.data ;
  wire token_data;
  input [7:0] a;
  wire [7:0] a;
  output [7:0] b;
  reg [7:0] b = 8'h00;
  input clk;
  wire clk;
  reg \inside  = 1'h1;
  input rst;
  wire rst;
  reg [7:0] slots [1:0];
  initial begin
    slots[0] = 8'h00;
    slots[1] = 8'h00;
  end
  always @(posedge clk) begin
    if (\$2 )
      slots[a[0]] <= a;
  end
  reg [7:0] \table  [1:0];
  initial begin
    \table [0] = 8'h00;
    \table [1] = 8'h0a;
  end
  assign \$1  = a[1:0] & \$10 ;
  assign \$2  = | \$1 ;
  assign \$10  = \inside ;
  assign \token.data  = token_data;
  assign token_data = a[7];
  always @(posedge clk)
    b <= \$3 ;
  always @(posedge clk)
    \inside  <= \$2 ;
  always_comb begin
    (* full_case = 32'd1 *)
    casez (\$1 )
      2'h0:
          \$3  = \table [a[0]];
      2'h1:
          \$3  = 8'h07;
      2'h2, 2'h3:
          \$3  = slots[0];
    endcase
    (* full_case = 32'd1 *)
    if (rst) begin
      \$3  = 8'h00;
    end
  end
  assign \sum$7  = \$2 ;
endmodule
"""

PLAIN = """\
module sample_1 (
  input wire clk,
  input wire rst,
  input wire [7:0] a,
  output reg [7:0] b = 8'h0
);
  reg [7:0] b_next;
  reg inside_ = 1'h1;
  wire inside_next;
  wire token_data;
  wire token_data_;
  wire [1:0] n1;
  wire n10;

  reg [7:0] slots [1:0];
  always_ff @(posedge clk) begin
    if (inside_next)
      slots[a[0]] <= a;
  end
  reg [7:0] table_ [1:0];
  initial begin
    table_[0] = 8'h0;
    table_[1] = 8'ha;
  end
  assign n1 = a[1:0] & n10;
  assign inside_next = | n1;
  assign n10 = inside_;
  assign token_data_ = token_data;
  assign token_data = a[7];
  always_ff @(posedge clk) begin
    b <= b_next;
    inside_ <= inside_next;
  end
  always_comb begin
    casez (n1)
      2'h0:
          b_next = table_[a[0]];
      2'h1:
          b_next = 8'h7;
      default:
          b_next = slots[0];
    endcase
    if (rst) begin
      b_next = 8'h0;
    end
  end
endmodule
"""


def test_names_ports_zeros_and_choices_are_plain() -> None:
    assert plain_spelling(WRITTEN) + "\n" == PLAIN


def test_an_asic_has_no_value_at_power_on() -> None:
    text = without_initial_values(plain_spelling(WRITTEN))
    assert "initial" not in text and not re.search(r"reg [^=]* = ", text)
    assert "  output reg [7:0] b\n" in text and "  reg inside_;\n" in text
    assert "b_next = table__at(a[0]);" in text
    assert (
        "  function automatic [7:0] table__at(input [0:0] place);\n"
        "    case (place)\n"
        "      1'd0: table__at = 8'h0;\n"
        "      1'd1: table__at = 8'ha;\n"
        "      default: table__at = 8'h0;\n"
    ) in text


ONE_OF_EACH = list({scenario.operator: scenario for scenario in SCENARIOS}.values())


@pytest.mark.parametrize("scenario", ONE_OF_EACH, ids=str)
def test_all_that_is_emitted_is_spelled_plainly(scenario: Scenario) -> None:
    graph = Graph("scenario")
    scenario.build(graph)
    for initial_values in (True, False):
        design = emit(lower(graph, FABRIC), probes=False, initial_values=initial_values)
        for name in design.sidecar["files"]:
            text = design.files[name]
            assert "\\" not in text and "full_case" not in text, name
            assert not re.search(r"'h0[0-9a-f]", text), name
            assert re.search(r"^module \w+ \(\n", text, re.MULTILINE), name
            assert initial_values or not re.search(r"^ *(?:initial begin|.*\breg [^=\n]* = )", text, re.MULTILINE), name
