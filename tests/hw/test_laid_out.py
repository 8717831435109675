"""Combinational blocks of what is emitted: one assignment of a signal, and nothing that has nothing to wait for."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hw.verilog.convert import laid_out

MODULE = """module crossed(a, c, y);
  input [1:0] a;
  wire [1:0] a;
  input c;
  wire c;
  output [1:0] y;
  reg [1:0] y;
  reg [1:0] x;
  reg [1:0] x_value;
  reg [2:0] w;
  reg [3:0] z;
  reg n_next;
  always_comb begin
    x = { y[0], a[0] };
    if (c) begin
      x = { y[0], 1'h1 };
    end
  end
  always_comb begin
    y = { a[1], x[0] };
    if (c) begin
      y[1] = 1'h0;
    end
  end
  always_comb begin
    n_next = 1'h0;
    if (c) begin
      n_next = 1'h1;
    end
  end
  always_comb begin
    z[1:0] = 2'h0;
    if (c) begin
      z[1:0] = a;
    end
  end
  always_comb
    z[3:2] = 2'h1;
  always_comb begin
    w[0] = c;
    w[2:1] = a;
    if (c) begin
      w[1] = 1'h0;
    end
  end
  assign x_value = x;
endmodule"""

CROSSED = """  always_comb begin
    reg [1:0] x_value_;
    x_value_ = { y[0], a[0] };
    if (c) begin
      x_value_ = { y[0], 1'h1 };
    end
    x = x_value_;
  end
  always_comb begin
    reg [1:0] y_value;
    y_value = { a[1], x[0] };
    if (c) begin
      y_value[1] = 1'h0;
    end
    y = y_value;
  end
  always_comb begin
    n_next = 1'h0;
    if (c) begin
      n_next = 1'h1;
    end
  end
  always_comb begin
    reg [3:0] z_value;
    z_value[3:2] = 2'h1;
    z_value[1:0] = 2'h0;
    if (c) begin
      z_value[1:0] = a;
    end
    z[1:0] = z_value[1:0];
    z[3:2] = z_value[3:2];
  end
  always_comb begin
    reg [2:0] w_value;
    w_value[0] = c;
    w_value[2:1] = a;
    if (c) begin
      w_value[1] = 1'h0;
    end
    w[0] = w_value[0];
    w[2:1] = w_value[2:1];
  end
  assign x_value = x;
endmodule"""

BENCH = """module bench;
  reg [1:0] a = 2'h2;
  reg c = 0;
  wire [1:0] y;
  crossed dut (.a(a), .c(c), .y(y));
  initial begin
    #1 c = 1;
    #1 c = 0;
    #1 $display("%b %b %b", y, dut.z, dut.w);
    $finish;
  end
endmodule
"""


def test_a_signal_gets_its_value_in_one_step() -> None:
    assert laid_out(MODULE).rstrip().endswith(CROSSED)


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="no Icarus Verilog")
def test_icarus_comes_to_rest(tmp_path: Path) -> None:
    """Bits of x and y depend on one another in turn; with two assignments each, Icarus 11 goes round for ever."""
    (tmp_path / "all.sv").write_text(laid_out(MODULE) + BENCH)
    subprocess.run(["iverilog", "-g2012", "-o", "all", "all.sv"], cwd=tmp_path, check=True, capture_output=True)
    ran = subprocess.run(["vvp", "-n", "all"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.stdout.splitlines()[-1] == "10 0100 100"
