"""Simulation-only arithmetic behind the interface and the timing of the RTL datapaths (``arithmetic="model"``).

A model is a Verilog module that gathers the words of an element, calls C++ once, and then waits with the words of the
result. Amaranth's own simulator, which knows no DPI-C, gets the RTL instead.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In

from hw.functions.datapath import Datapath

SOURCES = (Path(__file__).with_name("model.cpp"),)
"""C++ that Verilator compiles with the design."""

_TEMPLATE = """\
// Simulation only: computes with C++ when all words are there; each result then waits for its time.
module {name} (
{ports}
);
  import "DPI-C" function void {import_};

{variables}
  reg [{result_top}:0] computed [{slots}];
  reg [31:0] due [{slots}];
  reg [31:0] now, next, oldest, leaving, left, word;
  reg held_first, held_emit, push, first_now, emit_now;
  // verilator lint_off BLKSEQ
  always @(posedge clk) begin
    now <= rst ? 0 : now + 1;
    push = 0;
    if (rst) begin
      next = 0;
      oldest <= 0;
      left <= 0;
      word = 0;
    end else if (start || word != 0) begin
      first_now = start ? {first} : held_first;
      emit_now = start ? {emit} : held_emit;
{unpack}
      word = word + 1;
      if (word == {beats}) begin
        word = 0;
        {call};
        push = emit_now;
      end
      held_first <= first_now;
      held_emit <= emit_now;
    end
    if (push) begin
      for (int i = 0; i < {result_words}; i++) computed[next % {slots}][32 * i +: 32] = result_words[i];
      due[next % {slots}] = now + {wait_} - {beats} + 1;
      next = next + 1;
    end
{lone}    if (!rst && oldest != next && due[oldest % {slots}] == now) begin
      result <= computed[oldest % {slots}][0 +: {width}];
      leaving <= oldest % {slots};
      left <= 1;
      oldest <= oldest + 1;
    end else if (left != 0 && left != {result_beats}) begin
      result <= computed[leaving][left * {width} +: {width}];
      left <= left + 1;
    end
  end
  // verilator lint_on BLKSEQ
endmodule
"""

_LONE_EMISSION = """\
    if (!rst && emit && !start) begin
      for (int i = 0; i < {result_words}; i++) computed[next % {slots}][32 * i +: 32] = first ? 0 : result_words[i];
      due[next % {slots}] = now + {wait_};
      next = next + 1;
    end
"""


class DatapathModel(Datapath):
    """A datapath that computes in C++, with the timing and the ports of ``rtl``.

    ``beats``: words of each operand; ``result_beats``: those of the result.
    """

    imported: str
    """The C function, as Verilog declares it."""

    def __init__(self, rtl: Datapath, beats: Sequence[int], result_beats: int) -> None:
        self.rtl, self.beats, self.result_beats = rtl, tuple(beats), result_beats
        super().__init__(rtl.plan)
        self.parameters = {"datapath": type(self.rtl).__name__, **self.rtl.parameters}

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
        """The call of the C function; `operandI_words` and `result_words` are arrays of 32 bits, and `first_now` says
        that a reduction begins."""

    def verilog(self) -> str:
        """The text of the module called `module_name`."""
        ports, variables, unpack = ["  input clk", "  input rst"], [], []
        width, result_beats = len(self.result), self.result_beats
        for path, member, _ in self.signature.flatten(self):
            (name,) = path
            span = f"[{member.shape - 1}:0] " if member.shape > 1 else ""
            ports.append(f"  {'input' if member.flow is In else 'output reg'} {span}{name}")
        for number, beats in enumerate(self.beats):
            name = f"operand{number}"
            bits = len(getattr(self, name))
            count = -(-bits * beats // 32)
            variables.append(f"  bit [31:0] {name}_words [{count}];")
            variables.append(f"  reg [{32 * count - 1}:0] {name}_whole;")
            unpack.append(f"      if (word < {beats}) {name}_whole[word * {bits} +: {bits}] = {name};")
            loop = f"for (int i = 0; i < {count}; i++)"
            unpack.append(f"      if (word == {beats - 1}) {loop} {name}_words[i] = {name}_whole[32 * i +: 32];")
        result_words = -(-width * result_beats // 32)
        variables.append(f"  bit [31:0] result_words [{result_words}];")
        reduces = hasattr(self, "first")
        sizes = {
            "slots": self.latency // (result_beats if reduces else self.initiation_interval) + 2,
            "wait_": self.latency - 1,
            "result_words": result_words,
        }
        return _TEMPLATE.format(
            **sizes,
            name=self.module_name,
            width=width,
            ports=",\n".join(ports),
            import_=self.imported,
            variables="\n".join(variables),
            result_top=32 * result_words - 1,
            first="first" if reduces else "1",
            emit="emit" if reduces else "1",
            unpack="\n".join(unpack),
            beats=max(self.beats),
            call=self.call,
            lone=_LONE_EMISSION.format(**sizes) if reduces else "",
            result_beats=result_beats,
        )
