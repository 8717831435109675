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
// Simulation only: computes with C++ in the cycle of the start; `result` then waits for its time.
module {name} (
{ports}
);
  import "DPI-C" function void {import_};

{variables}
  reg [{result_top}:0] computed;
  reg [31:0] wait_;
  // verilator lint_off BLKSEQ
  always @(posedge clk) begin
    if (rst) wait_ <= 0;
    else if (start) wait_ <= {interval};
    else if (wait_ != 0) wait_ <= wait_ - 1;
    if (wait_ == 1) result <= computed;
    if (start) begin
{unpack}
      {call};
      for (int i = 0; i < {result_words}; i++) computed[32 * i +: 32] <= result_words[i];
    end
  end
  // verilator lint_on BLKSEQ
endmodule
"""


class DatapathModel(Datapath):
    """A datapath that computes in C++, with the timing and the ports of ``rtl``: latency = II + 1 (a depth of 0)."""

    imported: str
    """The C function, as Verilog declares it."""

    def __init__(self, rtl: Datapath) -> None:
        self.rtl = rtl
        self.initiation_interval, self.latency = rtl.initiation_interval, rtl.latency
        assert self.latency == self.initiation_interval + 1
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
        text = _TEMPLATE.format(
            name=self.module_name,
            ports=",\n".join(ports),
            import_=self.imported,
            variables="\n".join(variables),
            result_top=32 * result_words - 1,
            interval=self.initiation_interval,
            unpack="\n".join(unpack),
            call=self.call,
            result_words=result_words,
        )
        width = self.result.shape().width
        return text.replace("result <= computed;", f"result <= computed[{width - 1}:0];")
