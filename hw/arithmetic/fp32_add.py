"""Sum of two FP32 numbers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.shared import Parametric


class Fp32Add(Parametric):
    """``result`` = ``first`` + ``second``, combinational, rounded to nearest even.

    Subnormal numbers are zeros, in and out; NaN is canonical.
    """

    clocked = False
    parameters = ()

    def __init__(self) -> None:
        super().__init__({"first": In(32), "second": In(32), "result": Out(32)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        swap = Signal()
        big, small = Signal(32), Signal(32)
        m.d.comb += [
            swap.eq(self.first[:31] < self.second[:31]),
            big.eq(Mux(swap, self.second, self.first)),
            small.eq(Mux(swap, self.first, self.second)),
        ]
        exponent, low_exponent = big[23:31], small[23:31]
        subtract = Signal()
        m.d.comb += subtract.eq(big[31] ^ small[31])

        # The smaller number at the scale of the bigger one: 24 bits, guard, round, and whether anything is below.
        distance = Signal(8)
        shifted = Signal(53)
        aligned = Signal(27)
        m.d.comb += [
            distance.eq(exponent - low_exponent),
            shifted.eq(Mux(low_exponent.any(), Cat(C(0, 29), small[:23], C(1, 1)), 0) >> distance[:5]),
            aligned.eq(
                Mux(distance[5:].any(), low_exponent.any(), Cat(shifted[:27].any(), shifted[27:])),
            ),
        ]
        total = Signal(28)
        mantissa = Cat(C(0, 3), big[:23], C(1, 1))
        m.d.comb += total.eq(mantissa + (aligned ^ subtract.replicate(27)) + subtract + Cat(C(0, 27), subtract))

        normal, zeros = self._normalise(m, total)
        round_up = normal[3] & (normal[:3].any() | normal[4])
        # Exponent and fraction in one number, so that a carry out of the fraction reaches the exponent.
        rounded = Signal(32)
        m.d.comb += rounded.eq(Cat(normal[4:27], exponent + 1 - zeros) + round_up)
        underflow = zeros > exponent
        cancelled = ~normal[27] | (exponent == 0)
        overflow = rounded[23:32] >= 255
        special = exponent == 255
        nan = special & (big[:23].any() | subtract & (low_exponent == 255))
        finite = Mux(underflow | cancelled, C(0, 31), rounded[:31])
        magnitude = Mux(special | overflow & ~underflow & ~cancelled, C(0xFF << 23, 31), finite)
        sign = big[31] & ~(subtract & cancelled)
        m.d.comb += self.result.eq(Mux(nan, C(0x7FC00000, 32), Cat(magnitude, sign)))
        return m

    @staticmethod
    def _normalise(m: Module, total: Value) -> tuple[Value, Value]:
        """``total`` shifted left until its top bit is set, and by how much."""
        zeros: list[Value] = []
        value = total
        for step in (16, 8, 4, 2, 1):
            empty, shifted = Signal(name=f"top_{step}_empty"), Signal(28, name=f"normal_{step}")
            m.d.comb += [
                empty.eq(~value[28 - step :].any()),
                shifted.eq(Mux(empty, Cat(C(0, step), value[: 28 - step]), value)),
            ]
            zeros.insert(0, empty)
            value = shifted
        return value, Cat(zeros)
