"""Writes of the register slave with any of their bytes: all of a word, none, or a part."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from boards import ICARUS
from test_register_map import registers

from cosim.building.toolchain import find_toolchain
from hw.registers.block import registers_structure, registers_text

NAME = "fabric_copy_registers"
OKAY, SLVERR = 0, 2
BENCH = """
`timescale 1ns / 1ps
module bench;
  reg clk = 0, rst = 1;
  always #5 clk = ~clk;
{declared}
  {name} slave (
    .clk(clk), .rst(rst){connected}
  );

  task write(input [31:0] address, input [31:0] data, input [3:0] strobes);
    begin
      @(negedge clk) s_axil_awaddr = address; s_axil_awvalid = 1; s_axil_wdata = data; s_axil_wstrb = strobes;
      s_axil_wvalid = 1;
      @(negedge clk) s_axil_awvalid = 0; s_axil_wvalid = 0;
      while (!s_axil_bvalid) @(negedge clk);
      $display("%0d", s_axil_bresp);
      @(negedge clk);
    end
  endtask

  task read(input [31:0] address);
    begin
      @(negedge clk) s_axil_araddr = address; s_axil_arvalid = 1;
      @(negedge clk) s_axil_arvalid = 0;
      while (!s_axil_rvalid) @(negedge clk);
      $display("%0d", s_axil_rdata);
      @(negedge clk);
    end
  endtask

  initial begin
    repeat (4) @(negedge clk);
    rst = 0;
{steps}
    $finish;
  end
endmodule
"""


def played(directory: Path, simulator: str, *steps: str) -> list[int]:
    """Responses and data of ``steps``, which are writes and reads, one after the other."""
    ports = registers_structure(NAME, registers()).ports
    declared, connected = [], []
    for name, (way, width) in ports.items():
        start = " = 1" if name in ("s_axil_bready", "s_axil_rready") else " = 0"
        kind = f"reg [{width - 1}:0] {name}{start}" if way == "input" else f"wire [{width - 1}:0] {name}"
        declared.append(f"  {kind};")
        connected.append(f",\n    .{name}({name})")
    parts = {"declared": "\n".join(declared), "connected": "".join(connected), "steps": ";\n".join(steps) + ";"}
    text = BENCH.format(name=NAME, **parts)
    (directory / "bench.sv").write_text(text)
    (directory / "slave.sv").write_text(registers_text(NAME, registers()))
    if simulator == "icarus":
        run(directory, "iverilog", "-g2012", "-o", "bench", "bench.sv", "slave.sv")
        told = run(directory, "vvp", "bench")
    else:
        tools = find_toolchain()
        make = " ".join([*tools.make_variables, "CFG_CXXFLAGS_STD=-std=c++20"])
        flags = ("--binary", "-Wno-fatal", "--top", "bench", "-MAKEFLAGS", make)
        run(directory, str(tools.verilator.path), *flags, "bench.sv", "slave.sv", environment=tools.environment)
        told = run(directory, "obj_dir/Vbench")
    return [int(line) for line in told.splitlines() if line.isdigit()]


def run(directory: Path, *command: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "simulator",
    [
        pytest.param("icarus", marks=pytest.mark.skipif(ICARUS is None, reason="needs Icarus Verilog")),
        pytest.param("verilator", marks=pytest.mark.large),
    ],
)
def test_a_write_writes_all_of_a_word_or_nothing(simulator: str, tmp_path: Path) -> None:
    """A part of a word is refused, no byte at all is no error, and what follows is as if neither had been."""
    watchdog, enable = (each.address for each in registers() if each.name in ("watchdog", "interrupt_enable"))
    steps, wanted = [f"write({watchdog}, 32'h11223344, 15)", f"write({enable}, 5, 15)"], [OKAY, OKAY]
    for strobes in range(16):
        for address, before, written in ((watchdog, 0x11223344, 0xAABBCCDD), (enable, 5, 2)):
            whole = strobes == 15
            steps += [f"write({address}, {written}, {strobes})", f"read({address})", f"write({address}, {before}, 15)"]
            wanted += [OKAY if whole or not strobes else SLVERR, written if whole else before, OKAY]
    steps += ["write(252, 1, 15)", "write(252, 1, 0)", f"read({watchdog})"]  # no register is there
    wanted += [SLVERR, OKAY, 0x11223344]
    assert played(tmp_path, simulator, *steps) == wanted
