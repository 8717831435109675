"""Simulation-only arithmetic behind the interface and the timing of the RTL datapaths (``arithmetic="model"``).

A model is a Verilog module that gathers the words of an element, calls C++ once, and then waits with the words of the
result. Amaranth's own simulator, which knows no DPI-C, gets the RTL instead.
"""

from __future__ import annotations

from pathlib import Path

from amaranth.lib.wiring import In

from hw.functions.matmul_datapath import MatmulDatapath

SOURCES = (Path(__file__).with_name("model.cpp"),)
"""C++ that Verilator compiles with the design."""

_TEMPLATE = """\
// Simulation only: computes with C++ when all words are there; each result then waits for its time.
module {name} (
{ports}
);
  import "DPI-C" function void step_matmul(input int rows, input int inner, input int cols, input int transposed,
    input int terms, input int keep, input int width, input bit [31:0] first[], input bit [31:0] second[],
    inout bit [31:0] result[]);

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
      if (word == {words}) begin
        word = 0;
        {call};
        push = emit_now;
      end
      held_first <= first_now;
      held_emit <= emit_now;
    end
    if (push) begin
      for (int i = 0; i < {result_words}; i++) computed[next % {slots}][32 * i +: 32] = result_words[i];
      due[next % {slots}] = now + {wait_} - {words} + 1;
      next = next + 1;
    end
{lone}    if (!rst && oldest != next && due[oldest % {slots}] == now) begin
      result <= computed[oldest % {slots}][0 +: {width}];
      leaving <= oldest % {slots};
      left <= 1;
      oldest <= oldest + 1;
    end else if (left != 0 && left != {leaving_words}) begin
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


class MatmulModel(MatmulDatapath):
    """The matrix product, which in Verilog is computed in C++, with the timing and the ports of the RTL."""

    @property
    def call(self) -> str:
        """The call of the C function; `operandI_words` and `result_words` are arrays of 32 bits, and `first_now` says
        that a reduction begins."""
        plan, shape = self.plan, self.plan.arrangement
        keep = "32'(!first_now)" if plan.reduce else "0"
        return (
            f"step_matmul({shape.rows}, {plan.operands[0].cols}, {shape.cols}, {int(plan.transposed)}, {plan.terms},"
            f" {keep}, {plan.result.dtype.bits}, operand0_words, operand1_words, result_words)"
        )

    def verilog(self) -> str:
        """The text of the module called `module_name`."""
        ports, variables, unpack = ["  input clk", "  input rst"], [], []
        width, leaving_words = len(self.result), self.plan.result.words
        comes = [each.words for each in self.plan.operands]
        for path, member, _ in self.signature.flatten(self):
            (name,) = path
            span = f"[{member.shape - 1}:0] " if member.shape > 1 else ""
            ports.append(f"  {'input' if member.flow is In else 'output reg'} {span}{name}")
        for number, words in enumerate(comes):
            name = f"operand{number}"
            bits = len(getattr(self, name))
            count = -(-bits * words // 32)
            variables.append(f"  bit [31:0] {name}_words [{count}];")
            variables.append(f"  reg [{32 * count - 1}:0] {name}_whole;")
            unpack.append(f"      if (word < {words}) {name}_whole[word * {bits} +: {bits}] = {name};")
            loop = f"for (int i = 0; i < {count}; i++)"
            unpack.append(f"      if (word == {words - 1}) {loop} {name}_words[i] = {name}_whole[32 * i +: 32];")
        result_words = -(-width * leaving_words // 32)
        variables.append(f"  bit [31:0] result_words [{result_words}];")
        reduces = self.plan.reduce
        sizes = {
            "slots": self.latency // (leaving_words if reduces else self.initiation_interval) + 2,
            "wait_": self.latency - 1,
            "result_words": result_words,
        }
        return _TEMPLATE.format(
            **sizes,
            name=self.module_name,
            width=width,
            ports=",\n".join(ports),
            variables="\n".join(variables),
            result_top=32 * result_words - 1,
            first="first" if reduces else "1",
            emit="emit" if reduces else "1",
            unpack="\n".join(unpack),
            words=max(comes),
            call=self.call,
            lone=_LONE_EMISSION.format(**sizes) if reduces else "",
            leaving_words=leaving_words,
        )
