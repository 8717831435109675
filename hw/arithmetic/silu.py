"""SiLU of an FP32 number, pipelined."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.arithmetic.halves import products_of_halves, whole_product
from hw.arithmetic.staged import Staged, Values
from step.functions.silu import LOG2_E, POSITION_BITS, RANGE, SEGMENT_BITS, STEP_BITS, VALUE_BITS, sigmoid_table

TABLE_BITS = VALUE_BITS + 1
"""Width of a table value."""

SLOPE_BITS = max(slope for _, slope in sigmoid_table()).bit_length()

LARGEST_EXPONENT = 127 + 7
"""Biased exponent of the largest numbers that are not saturated: |x| < 256."""


class Silu(Staged):
    """``result`` = silu(``value``), as `step.functions.silu.silu` does it, step by step.

    There are registers behind the table and behind its interpolation in any case.
    """

    cuts = (4, 7), (2, 4, 7, 9), (2, 3, 4, 5, 7, 9), (1, 2, 3, 4, 5, 7, 8, 9)

    def __init__(self, stages: int) -> None:
        super().__init__(stages, {"value": In(32), "result": Out(32)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        self._finish(m, self._multiply(m, self._interpolate(m, self._look_up(m, self._locate(m)))))
        return m

    def _locate(self, m: Module) -> Values:
        """Steps 1 to 3: the magnitude of x * log2(e), for numbers that are not too large."""
        mantissa = Cat(self.value[:23], C(1, 1))
        x = self.behind(m, 1, number=self.value, **products_of_halves(mantissa, C(LOG2_E, 24)))
        product = whole_product(x)[46 - POSITION_BITS - 7 :]
        x = self.behind(m, 2, product=product, shift=(LARGEST_EXPONENT - x.number[23:31])[:8], number=x.number)
        magnitude = Mux(x.shift[5:].any(), 0, x.product >> x.shift[:5])
        return self.behind(m, 3, magnitude=magnitude, number=x.number)

    def _look_up(self, m: Module, x: Values) -> Values:
        """Steps 4 and 5: the table's entry, and what it does not say."""
        exponent, fraction, sign = x.number[23:31], x.number[:23], x.number[31]
        position = Signal(signed(len(x.magnitude) + 1))
        row = position >> POSITION_BITS
        beyond = POSITION_BITS + RANGE.bit_length() - 1  # the bits from here on weigh RANGE and more
        segment = position >> (POSITION_BITS - SEGMENT_BITS)
        size = len(sigmoid_table())
        address = Signal(range(size))
        below = Signal()
        above = Signal()
        exact = Signal()
        m.d.comb += [
            position.eq(Mux(sign, -x.magnitude, x.magnitude)),
            # As row < -RANGE and row >= RANGE, but without a carry.
            below.eq(position[-1] & ~position[beyond:].all()),
            above.eq((exponent > LARGEST_EXPONENT) | (~sign & x.magnitude[beyond:].any())),
            # Adding half of the table's size to the segment is flipping the top bit of the address.
            address.eq(Mux(below, segment[:SEGMENT_BITS], segment[: len(address)] ^ (size // 2))),
            exact.eq((exponent == 0) | (exponent == 255) & fraction.any()),
        ]
        rows = [value | slope << TABLE_BITS for value, slope in sigmoid_table()]
        m.submodules.table = table = Memory(shape=TABLE_BITS + SLOPE_BITS, depth=size, init=rows)
        read = table.read_port()
        m.d.comb += [read.addr.eq(address), read.en.eq(1)]
        zero = (exponent == 0) | (above & sign & ~exact)
        x = self.behind(
            m,
            4,
            number=Mux(zero, Cat(C(0, 31), sign), Mux(exact, C(0x7FC00000, 32), x.number)),
            exponent=(exponent + Mux(sign, row, 0))[:11].as_signed(),
            exact=above | exact,
            place=position[POSITION_BITS - SEGMENT_BITS - STEP_BITS : POSITION_BITS - SEGMENT_BITS],
        )
        return self.behind(m, 5, entry=read.data, **x.only("number", "exponent", "exact", "place"))

    def _interpolate(self, m: Module, x: Values) -> Values:
        """Steps 6 and 7: the sigmoid."""
        more = (x.entry[TABLE_BITS:] * x.place) >> STEP_BITS
        x = self.behind(m, 6, base=x.entry[:TABLE_BITS], more=more, **x.only("number", "exponent", "exact"))
        return self.behind(m, 7, factor=(x.base + x.more)[:TABLE_BITS], **x.only("number", "exponent", "exact"))

    def _multiply(self, m: Module, x: Values) -> Values:
        """Steps 8 and 9: the mantissa of x times that."""
        products = products_of_halves(Cat(x.number[:23], C(1, 1)), x.factor)
        x = self.behind(m, 8, **products, **x.only("number", "exponent", "exact"))
        return self.behind(m, 9, product=whole_product(x), **x.only("number", "exponent", "exact"))

    def _finish(self, m: Module, x: Values) -> None:
        """Step 10: normalise, round and choose."""
        normal = Signal(24 + TABLE_BITS)
        top = len(normal) - 1
        shift = Mux(x.product[top], 0, Mux(x.product[top - 1], 1, 2))
        rounded = Signal(signed(23 + 12))
        below = top - 23  # the bits under the 24 that stay
        m.d.comb += [
            normal.eq(x.product << shift),
            rounded.eq(
                Cat(normal[below:top], (x.exponent + 1 - shift)[:12]).as_signed()
                + (normal[below - 1] & (normal[: below - 1].any() | normal[below]))
            ),
        ]
        magnitude = Mux((rounded >> 23) <= 0, C(0, 31), rounded[:31])
        m.d.comb += self.result.eq(Mux(x.exact, x.number, Cat(magnitude, x.number[31])))
