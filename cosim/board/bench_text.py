"""The bench of a board's folder: SystemVerilog that runs the program twice, and looks at what it left in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cosim.board.memory import ExpectedImage, PlacedImage
from cosim.board.tables import Tables
from cosim.testbench.axi import axi_memory
from cosim.testbench.data import hex_lines
from cosim.testbench.fabric import hint_line
from hw.verilog.structure import separated
from step.lowering.arrival import arrival
from step.lowering.dma import MOST_LIMIT

RUNS = 2
"""One after the other, without a reset."""

CYCLES = 1 << 14
"""Without movement, after which the bench gives up."""

_ALWAYS = ("s_axil_bready", "s_axil_rready")
"""The bench takes every answer at once."""


def data_files(
    tables: Tables, places: Sequence[PlacedImage], contents: Mapping[str, bytes], wanted: Mapping[str, ExpectedImage]
) -> dict[str, bytes]:
    """The ``memory`` before a run, what is ``expected`` after it, and the ``mask`` of the bits that count of that.

    Each is there as it is (``.bin``), and as words for the bench (``.hex``).
    """
    base, size = places[0].address, places[-1].end - places[0].address
    before, after, mask = bytearray(size), bytearray(size), bytearray(size)
    for place in places:
        at = place.address - base
        given = contents.get(place.name, b"")
        before[at : at + len(given)] = given
        if place.name in wanted:
            found = wanted[place.name]
            after[at : at + len(found.content)] = found.content
            mask[at : at + len(found.mask)] = found.mask
    width = tables.design.board.bus.bytes
    words = {"memory": bytes(before), "expected": bytes(after), "mask": bytes(mask)}
    lines = {f"{name}.hex": hex_lines(each, width).encode() for name, each in words.items()}
    return {**{f"{name}.bin": each for name, each in words.items()}, **lines}


def bench_text(tables: Tables, places: Sequence[PlacedImage]) -> str:
    """The bench; its top module is ``NAME_bench``."""
    design = tables.design
    bus, top = design.board.bus, design.top
    addresses, base = tables.addresses, places[0].address
    words = (places[-1].end - base) // bus.bytes
    ports = {"clk": ("input", 1), "rst": ("input", 1), **top.ports}
    lines = [
        "`timescale 1ns / 1ps",
        f"// The board {top.name} with memory: runs its program {RUNS} times, and compares what it left there.",
        f"module {tables.name}_bench;",
        f"  localparam WORDS = {words}, BITS = {8 * bus.bytes};",
        "  reg clk = 0, rst = 1;",
        "  always #5 clk = ~clk;",
        "",
    ]
    for name, (way, width) in ports.items():
        if name.startswith("s_axil_") or name == "interrupt":
            start = (" = 1" if name in _ALWAYS else " = 0") if way == "input" else ""
            lines.append(f"  {'reg' if way == 'input' else 'wire'} [{width - 1}:0] {name}{start};")
    memory, nets = axi_memory(top, words, base)
    nets |= {each: each for each in ports if each.startswith("s_axil_") or each in ("clk", "rst", "interrupt")}
    lines += [*memory, f"  {top.name} board ("]
    lines += separated(f"    .{each}({nets.get(each, '')})" for each in ports)
    lines += ["  );", ""]
    lines += [f"  localparam [31:0] {name.upper()} = {address:#x};".replace("0x", "'h") for name, address in
              ((each, addresses[each]) for each in _REGISTERS)]  # fmt: skip
    lines += [_TASKS, "  initial begin", _LOAD]
    for place in places:
        lines += [f"    write({each});" for each in _settings(addresses, place)]
    hint = hint_line(arrival(tables.netlist))
    return "\n".join([*lines, _RUN.format(runs=RUNS, cycles=CYCLES, module=top.name, hint=hint)]) + "\n"


_REGISTERS = ("control", "status", "fault", "cycles_low", "watchdog", "interrupt_enable", "interrupt")


def _settings(addresses: Mapping[str, int], place: PlacedImage) -> Iterator[str]:
    """Registers to write for an image."""
    yield f"32'h{addresses[f'base_{place.name}_low']:x}, 32'h{place.address & 0xFFFF_FFFF:x}"
    if high := addresses.get(f"base_{place.name}_high"):
        yield f"32'h{high:x}, 32'h{place.address >> 32:x}"
    if limit := addresses.get(f"limit_{place.name}"):
        yield f"32'h{limit:x}, 32'h{min(place.bytes, MOST_LIMIT):x}"


_TASKS = """
  reg [BITS-1:0] expected[0:WORDS-1], mask[0:WORDS-1];
  reg [31:0] value;
  integer run, at, wrong, waited;
  reg done;
  reg [1:0] taken;

  // Inputs change behind the edge of the clock. Nonblocking assignments would not do: Verilator makes those of an
  // initial block blocking (its warning INITIALDLY), so they would come before the edge that they belong to.
  task write(input [31:0] address, input [31:0] data);
    begin
      #1;
      s_axil_awaddr = address[$bits(s_axil_awaddr)-1:0];
      s_axil_awvalid = 1;
      s_axil_wdata = data;
      s_axil_wstrb = 4'hf;
      s_axil_wvalid = 1;
      done = 0;
      while (done == 0) begin
        @(posedge clk);
        taken = {s_axil_awready, s_axil_wready};
        done = s_axil_bvalid;
        #1;
        if (taken[1]) s_axil_awvalid = 0;
        if (taken[0]) s_axil_wvalid = 0;
      end
    end
  endtask

  task read(input [31:0] address);
    begin
      #1;
      s_axil_araddr = address[$bits(s_axil_araddr)-1:0];
      s_axil_arvalid = 1;
      done = 0;
      while (done == 0) begin
        @(posedge clk);
        taken = s_axil_arready;
        done = s_axil_rvalid;
        value = s_axil_rdata;
        #1;
        if (taken[0]) s_axil_arvalid = 0;
      end
    end
  endtask
"""

_LOAD = """\
    $readmemh("expected.hex", expected);
    $readmemh("mask.hex", mask);
    repeat (8) @(posedge clk);
    #1 rst = 0;
    repeat (4) @(posedge clk);
    write(INTERRUPT_ENABLE, 32'h7);"""

_RUN = """\
    write(WATCHDOG, 32'd{cycles});
    for (run = 0; run < {runs}; run = run + 1) begin
      $readmemh("memory.hex", memory.words);
      write(CONTROL, 32'h1);
      waited = 0;
      while (!interrupt) begin
        @(posedge clk);
        waited = waited + 1;
        if (waited > 2000000000) begin
          $display("FAILED: {module} does not end run %0d", run);
          $fatal(1);
        end
      end
      read(INTERRUPT);
      write(INTERRUPT, value);
      read(FAULT);
      if (value != 0) begin
        $display("FAILED: run %0d met fault %0d of unit %0d", run, value[3:0], value[27:16]);
        $fatal(1);
      end
      wrong = 0;
      for (at = 0; at < WORDS; at = at + 1)
        if (((memory.words[at] ^ expected[at]) & mask[at]) !== 0) begin
          if (wrong == 0)
            $display("word %0d of memory is %h, not %h (mask %h)", at, memory.words[at], expected[at], mask[at]);
          wrong = wrong + 1;
        end
      if (wrong != 0) begin
        $display("FAILED: run %0d left %0d wrong words in memory", run, wrong);{hint}
        $fatal(1);
      end
      read(CYCLES_LOW);
      $display("run %0d: ok, %0d cycles", run, value);
    end
    $display("PASSED");
    $finish;
  end
endmodule"""
