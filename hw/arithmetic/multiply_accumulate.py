"""One multiply-accumulate of a matrix product."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Cat, Module
from amaranth.lib.wiring import In, Out

from hw.arithmetic.bf16_multiply import Bf16Multiply
from hw.arithmetic.fp32_add import Fp32Add
from hw.arithmetic.fused_sum import FusedProducts
from hw.arithmetic.staged import Staged
from hw.primitives.timing import registered
from hw.verilog.modules import Parametric, Shared


class MultiplyAccumulate(Parametric):
    """``result`` = ``sum`` (FP32) + ``first`` * ``second`` (BF16); only the sum is rounded.

    With ``terms``, of so many products the fused sum. With ``fresh``, ``sum`` counts as zero, whatever it is.

    ``sum`` and ``fresh`` come ``product_cycles`` behind the factors, and ``result`` is there ``depth`` cycles behind
    them; so the loop from ``result`` through a register to ``sum`` takes as many cycles as the adder has stages:
    ``sum_cycles`` and one.
    """

    begins = True

    def __init__(self, stages: int, terms: int = 1) -> None:
        self.terms, self.add = terms, Fp32Add(stages, begins=True)
        self.multiply: Staged = FusedProducts(terms, stages) if terms > 1 else Bf16Multiply(stages)
        self.product_cycles, self.sum_cycles = self.multiply.depth + 1, self.add.depth
        self.depth = self.product_cycles + self.sum_cycles
        factors = {"first": In(16 * terms), "second": In(16 * terms)}
        super().__init__({"fresh": In(1), "sum": In(32), **factors, "result": Out(32)})
        self.parameters = {"stages": self.add.stages, "terms": self.terms}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.multiply = multiply = Shared(self.multiply)
        m.submodules.add = add = Shared(self.add)
        m.d.comb += [multiply.first.eq(self.first), multiply.second.eq(self.second)]
        product = registered(m, multiply.result, "product")
        m.d.comb += [add.fresh.eq(self.fresh), add.first.eq(self.sum), add.second.eq(product)]
        m.d.comb += self.result.eq(add.result)
        return m


class IntegerMultiplyAccumulate(Parametric):
    """``result`` = ``sum`` (of ``width`` bits) + ``first`` (INT8) * ``second`` (of ``bits``), modulo 2^width; ``sum``
    comes a cycle later.

    Of ``pairs`` (of 4 bits) there are two: one multiplier has the product of ``first`` and both, `APART` bits apart.
    There is no ``fresh``: gates in front of its addition would be one for each bit.
    """

    begins = False

    product_cycles = depth = 1
    sum_cycles = 0

    APART = 12
    """Bits of a product of 8 and 4 bits."""

    def __init__(self, bits: int = 8, *, pairs: bool = False, width: int = 32) -> None:
        self.pairs, self.width, count = pairs, width, 1 + pairs
        sums = width * count
        super().__init__({"sum": In(sums), "first": In(8), "second": In(bits * count), "result": Out(sums)})
        self.parameters = {"bits": bits, "pairs": pairs, "width": width}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        second = self.second.as_signed()
        if self.pairs:
            low, high = self.second[:4].as_signed(), self.second[4:].as_signed()
            second = Cat(low, low[-1].replicate(self.APART - 4), high - low[-1]).as_signed()
        product = registered(m, self.first.as_signed() * second, "product")
        if not self.pairs:
            m.d.comb += self.result.eq(self.sum + product)
            return m
        # The upper product lacks 1 where the lower one is negative; a bit below its sum carries it in.
        low, high = product[: self.APART].as_signed(), product[self.APART - 1 :].as_signed()
        width, carried = self.width, Cat(C(1, 1), self.sum[self.width :]) + high
        m.d.comb += self.result.eq(Cat((self.sum[:width] + low)[:width], carried[1 : width + 1]))
        return m
