"""Simulation-only arithmetic behind the interface and the timing of the RTL datapaths (``arithmetic="model"``).

A model is a Verilog module that calls C++ once per element and then waits. Amaranth's own simulator, which knows no
DPI-C, gets the RTL instead.
"""

from __future__ import annotations

import abc
from pathlib import Path
from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In

from hw.functions.datapath import Datapath

SOURCES = (Path(__file__).with_name("model.cpp"),)
"""C++ that Verilator compiles with the design."""

_TEMPLATE = """\
// Simulation only: computes with C++ in the cycle of the start; each result then waits for its time.
module {name} (
{ports}
);
  import "DPI-C" function void {import_};

{variables}
  reg [{result_top}:0] computed [{in_flight}];
  reg [31:0] due [{in_flight}];
  reg [31:0] now, next, oldest;
  // verilator lint_off BLKSEQ
  always @(posedge clk) begin
    now <= rst ? 0 : now + 1;
    if (rst) begin
      next <= 0;
      oldest <= 0;
    end
    if (!rst && oldest != next && due[oldest % {in_flight}] == now) begin
      result <= {width}'(computed[oldest % {in_flight}]);
      oldest <= oldest + 1;
    end
    if (!rst && start) begin
{unpack}
      {call};
      for (int i = 0; i < {result_words}; i++) computed[next % {in_flight}][32 * i +: 32] <= result_words[i];
      due[next % {in_flight}] <= now + {wait_};
      next <= next + 1;
    end
  end
  // verilator lint_on BLKSEQ
endmodule
"""


class DatapathModel(Datapath):
    """A datapath that computes in C++, with the timing and the ports of ``rtl``."""

    imported: str
    """The C function, as Verilog declares it."""

    def __init__(self, rtl: Datapath) -> None:
        self.rtl = rtl
        self.initiation_interval, self.latency = rtl.initiation_interval, rtl.latency
        operands = [member.shape for path, member, _ in rtl.signature.flatten(rtl) if path[0].startswith("operand")]
        super().__init__(operands, rtl.result.shape().width, reduce="first" in rtl.signature.members)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return type(self.rtl).__name__, self.rtl.parameters

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.rtl = self.rtl
        for (name,), member, value in self.signature.flatten(self):
            inner = getattr(self.rtl, name)
            m.d.comb += inner.eq(value) if member.flow is In else value.eq(inner)
        return m

    @property
    @abc.abstractmethod
    def call(self) -> str:
        """The call of the C function; `operandI_words` and `result_words` are arrays of words."""

    def verilog(self) -> str:
        """The text of the module called `module_name`."""
        ports, variables, unpack = ["  input clk", "  input rst"], [], []
        for path, member, _ in self.signature.flatten(self):
            (name,), width = path, member.shape
            count = -(-width // 32)
            span = f"[{width - 1}:0] " if width > 1 else ""
            ports.append(f"  {'input' if member.flow is In else 'output reg'} {span}{name}")
            if name.startswith(("operand", "result")):
                variables.append(f"  bit [31:0] {name}_words [{count}];")
            if name.startswith("operand"):
                variables.append(f"  wire [{32 * count - 1}:0] {name}_padded = {32 * count}'({name});")
                loop = f"for (int i = 0; i < {count}; i++)"
                unpack.append(f"      {loop} {name}_words[i] = {name}_padded[32 * i +: 32];")
        result_words = -(-self.result.shape().width // 32)
        return _TEMPLATE.format(
            name=self.module_name,
            width=self.result.shape().width,
            ports=",\n".join(ports),
            import_=self.imported,
            variables="\n".join(variables),
            result_top=32 * result_words - 1,
            in_flight=-(-self.latency // self.initiation_interval),
            wait_=self.latency - 1,
            unpack="\n".join(unpack),
            call=self.call,
            result_words=result_words,
        )
