"""SiLU of an FP32 number, pipelined."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed

from hw.arithmetic.halves import multiplied
from hw.arithmetic.staged import Values
from hw.arithmetic.tabulated import HUGE, Tabulated, rounded
from step.functions.exp import POSITION_BITS
from step.functions.silu import RANGE, SEGMENT_BITS, sigmoid_table


class Silu(Tabulated):
    """``result`` = silu(``value``), as `step.functions.silu.silu` does it, step by step.

    There are registers behind the table and behind its interpolation in any case.
    """

    cuts = (4, 7), (2, 4, 7, 9), (2, 3, 4, 5, 7, 9), (1, 2, 3, 4, 5, 7, 8, 9)

    def compute(self, m: Module) -> Value:
        x = self._look_up(m, self.locate(m, self.value))
        # Steps 8 and 9: the mantissa of x times that, and the exponent of the product's top bit.
        kept = {"exponent": x.exponent + 1, **x.only("number", "exact")}
        x = multiplied(self, m, 8, Cat(x.number[:23], C(1, 1)), x.factor, **kept)
        # Step 10: normalise, round and choose.
        magnitude = rounded(m, x.product, x.exponent, 3)
        return Mux(x.exact, x.number, Cat(magnitude, x.number[31]))

    def _look_up(self, m: Module, x: Values) -> Values:
        """Steps 4 to 7: the sigmoid, and what the table does not say."""
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
        exact = Signal()
        m.d.comb += [
            position.eq(Mux(sign, -x.magnitude, x.magnitude)),
            # As row < -RANGE and row >= RANGE, but without a carry.
            below.eq(position[-1] & ~position[beyond:].all()),
            above.eq((exponent > HUGE) | (~sign & x.magnitude[beyond:].any())),
            # Adding half of the table's size to the segment is flipping the top bit of the address.
            address.eq(Mux(below, segment[:SEGMENT_BITS], segment[: len(address)] ^ (size // 2))),
            exact.eq((exponent == 0) | (exponent == 255) & fraction.any()),
        ]
        zero = (exponent == 0) | (above & sign & ~exact)
        step = POSITION_BITS - SEGMENT_BITS
        return self.read(
            m,
            4,
            table,
            position[step - table.step_bits : step],
            address,
            number=Mux(zero, Cat(C(0, 31), sign), Mux(exact, C(0x7FC00000, 32), x.number)),
            exponent=(exponent + Mux(sign, row, 0))[:11].as_signed(),
            exact=above | exact,
        )
