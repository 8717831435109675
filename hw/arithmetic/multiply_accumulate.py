"""One multiply-accumulate of a matrix product."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hw.arithmetic.bf16_multiply import Bf16Multiply
from hw.arithmetic.fp32_add import Fp32Add
from hw.shared import Parametric, Shared


class MultiplyAccumulate(Parametric):
    """``result`` = ``sum`` (FP32) + ``first`` * ``second`` (BF16), combinational; only the sum is rounded."""

    clocked = False
    parameters = ()

    def __init__(self) -> None:
        super().__init__({"sum": In(32), "first": In(16), "second": In(16), "result": Out(32)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.multiply = multiply = Shared(Bf16Multiply())
        m.submodules.add = add = Shared(Fp32Add())
        m.d.comb += [
            multiply.first.eq(self.first),
            multiply.second.eq(self.second),
            add.first.eq(self.sum),
            add.second.eq(multiply.result),
            self.result.eq(add.result),
        ]
        return m
