"""Simulation-only arithmetic behind the interface and the timing of the RTL datapaths (``arithmetic="model"``).

A model is a Verilog module that gathers the words of an element, calls C++ once, and then waits with the words of the
result. Amaranth's own simulator, which knows no DPI-C, gets the RTL instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal

from hw.functions.matmul_datapath import MatmulDatapath

SOURCES = tuple(Path(__file__).with_name(f"model.{suffix}") for suffix in ("cpp", "sv"))
"""C++ that Verilator compiles with the design, and the module that calls it."""


class MatmulModel(MatmulDatapath):
    """The matrix product, which in Verilog is computed in C++, with the timing and the ports of the RTL."""

    simulated = True

    def elaborate(self, platform: Any) -> Module:
        if not hasattr(platform, "require"):
            return super().elaborate(platform)
        m, plan, shape = Module(), self.plan, self.plan.arrangement
        tiles = {"LEFT": plan.operands[0], "RIGHT": plan.operands[1], "RESULT": plan.result}
        numbers = {"ROWS": shape.rows, "INNER": plan.operands[0].cols, "COLS": shape.cols}
        numbers |= {"TRANSPOSED": plan.transposed, "TERMS": plan.terms, "REDUCE": plan.reduce}
        numbers |= {f"{name}_BITS": each.word_bits for name, each in tiles.items()}
        numbers |= {f"{name}_WORDS": each.words for name, each in tiles.items()}
        numbers |= {"SCALAR_BITS": plan.result.dtype.bits, "WORDS": max(each.words for each in plan.operands)}
        pace = plan.result.words if plan.reduce else self.initiation_interval
        numbers |= {"SLOTS": self.latency // pace + 2, "WAIT": self.latency - 1}
        states = {"i_first": self.first, "i_emit": self.emit} if plan.reduce else {"i_first": 1, "i_emit": 1}
        m.submodules.model = Instance(
            "step_matmul_model",
            **{f"p_{name}": int(each) for name, each in numbers.items()},
            **{"i_clk": ClockSignal(), "i_rst": ResetSignal(), "i_start": self.start, **states},
            **{"i_operand0": self.operand0, "i_operand1": self.operand1, "o_result": self.result},
        )
        return m
