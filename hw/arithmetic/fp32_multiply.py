"""Product of two FP32 numbers."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from hw.arithmetic.halves import factors, finished, multiplied
from hw.arithmetic.staged import Staged


class Fp32Multiply(Staged):
    """``result`` = ``first`` * ``second``, rounded to nearest even, in at most four stages.

    Subnormal numbers are zeros, in and out (decided behind the rounding); NaN is canonical.
    """

    cuts = (), (2,), (1, 3), (1, 2, 3)

    inputs: ClassVar[dict[str, int]] = {"first": 32, "second": 32}

    def compute(self, m: Module) -> Value:
        mantissas, others = factors(self.first, self.second)
        x = multiplied(self, m, 1, *mantissas, **others)
        normal = Mux(x.product[47], x.product[1:47], x.product[:46])
        x = self.behind(
            m,
            3,
            fraction=normal[23:],
            up=normal[22] & (normal[:22].any() | (x.product[47] & x.product[0]) | normal[23]),
            exponent=x.exponent + x.product[47],
            **x.only("sign", "zero", "infinite", "nan"),
        )
        # A carry out of the fraction reaches the exponent.
        rounded = Signal(33)
        m.d.comb += rounded.eq(Cat(x.fraction, x.exponent) + x.up)
        exponent = rounded[23:32]
        small, large = ~exponent[7:].any(), exponent[8] & (exponent[7] | exponent[1:7].all())  # <= 127, >= 382
        return finished(x, rounded[:23], (exponent - 127)[:8], small, large)
