"""The logistic function and SiLU of an FP32 number, pipelined."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed

from hw.arithmetic.halves import multiplied
from hw.arithmetic.staged import Values
from hw.arithmetic.tabulated import HUGE, Tabulated
from step.functions.exp import POSITION_BITS
from step.functions.silu import RANGE, SEGMENT_BITS, VALUE_BITS, sigmoid_table

NAN = 0x7FC00000


class Sigmoid(Tabulated):
    """``result`` = sigmoid(``value``), as `step.functions.silu.sigmoid` does it, step by step."""

    cuts: ClassVar[tuple[tuple[int, ...], ...]] = (2, 4, 7), (2, 4, 5, 7), (1, 2, 4, 5, 7), (1, 2, 3, 4, 5, 7)
    products: ClassVar[tuple[int, ...]] = 1, 6

    def compute(self, m: Module) -> Value:
        x = self.look_up(m)
        significand = Cat(C(0, 24 - VALUE_BITS + 1), x.factor)
        x = self.rounded(m, significand, x.exponent, 2, **x.only("exact", "number"))
        return Mux(x.exact, x.number, Cat(x.magnitude, C(0, 1)))

    def look_up(self, m: Module) -> Values:
        """Steps 1 to 7: the sigmoid, what the table does not say, and the biased exponent of its scale."""
        x = self.locate(m, self.value)
        exponent, fraction, sign = x.number[23:31], x.number[:23], x.number[31]
        position = Signal(signed(len(x.magnitude) + 1))
        row = position >> POSITION_BITS
        beyond = POSITION_BITS + RANGE.bit_length() - 1  # the bits from here on weigh RANGE and more
        segment = position >> (POSITION_BITS - SEGMENT_BITS)
        table = sigmoid_table()
        size = len(table.entries)
        address = Signal(range(size))
        below = Signal()
        above = Signal()
        nan = Signal()
        m.d.comb += [
            position.eq(Mux(sign, -x.magnitude, x.magnitude)),
            # As row < -RANGE and row >= RANGE, but without a carry.
            below.eq(position[-1] & ~position[beyond:].all()),
            above.eq((exponent > HUGE) | (~sign & x.magnitude[beyond:].any())),
            # Adding half of the table's size to the segment is flipping the top bit of the address.
            address.eq(Mux(below, segment[:SEGMENT_BITS], segment[: len(address)] ^ (size // 2))),
            nan.eq((exponent == 255) & fraction.any()),
        ]
        scaled, exact, number = self.ends(x.number, above, nan)
        kept = {"number": number, "exponent": (scaled + Mux(sign, row, 0))[:11].as_signed(), "exact": exact}
        place = position[: POSITION_BITS - SEGMENT_BITS][-table.step_bits :]
        return self.read(m, 4, table, place, address, **kept)

    def ends(self, number: Value, above: Value, nan: Value) -> tuple[Value, Value, Value]:
        """The biased exponent of what the sigmoid scales, whether the table does not say the result, and then that."""
        end = Cat(C(0, 23), (~number[31]).replicate(7), C(0, 2))
        return C(127, 8), above | nan, Mux(nan, C(NAN, 32), end)


class Silu(Sigmoid):
    """``result`` = silu(``value``), as `step.functions.silu.silu` does it, step by step.

    There are registers behind the table and behind its interpolation in any case.
    """

    cuts = (4, 7), (2, 4, 7, 9), (2, 3, 4, 5, 7, 9), (1, 2, 3, 4, 5, 7, 8, 9)
    products = 1, 6, 8

    def compute(self, m: Module) -> Value:
        x = self.look_up(m)
        # Steps 8 and 9: the mantissa of x times that, and the exponent of the product's top bit.
        kept = {"exponent": x.exponent + 1, **x.only("number", "exact")}
        x = multiplied(self, m, 8, Cat(x.number[:23], C(1, 1)), x.factor, **kept)
        # Step 10: normalise, round and choose.
        x = self.rounded(m, x.product, x.exponent, 3, **x.only("exact", "number"))
        return Mux(x.exact, x.number, Cat(x.magnitude, x.number[31]))

    def ends(self, number: Value, above: Value, nan: Value) -> tuple[Value, Value, Value]:
        """Zeros, and numbers that are left as they are, or become zeros."""
        exponent, sign = number[23:31], number[31]
        zero = (exponent == 0) | (above & sign & ~nan)
        end = Mux(zero, Cat(C(0, 31), sign), Mux(nan, C(NAN, 32), number))
        return exponent, above | nan | (exponent == 0), end
