"""SiLU of an FP32 number, pipelined."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.shared import Parametric
from step.functions.silu import LOG2_E, POSITION_BITS, RANGE, SEGMENT_BITS, STEP_BITS, VALUE_BITS, sigmoid_table

TABLE_BITS = VALUE_BITS + 1
"""Width of a table value; slopes have fewer bits and are stored with as many."""

LARGEST_EXPONENT = 127 + 7
"""Biased exponent of the largest numbers that are not saturated: |x| < 256."""


class Silu(Parametric):
    """``result`` = silu(``value``) of two cycles before, as `step.functions.silu.silu` does it, step by step.

    Registers: the table's output, and the interpolated sigmoid.
    """

    parameters = ()
    depth = 2

    def __init__(self) -> None:
        super().__init__({"value": In(32), "result": Out(32)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        position, too_large = self._position(m)
        row = position >> POSITION_BITS
        segment = position >> (POSITION_BITS - SEGMENT_BITS)
        step = position[POSITION_BITS - SEGMENT_BITS - STEP_BITS : POSITION_BITS - SEGMENT_BITS]
        size = len(sigmoid_table())
        address = Signal(range(size))
        below, above, exact = Signal(), Signal(), Signal()
        exponent, fraction, sign = self.value[23:31], self.value[:23], self.value[31]
        m.d.comb += [
            below.eq(row < -RANGE),
            above.eq(too_large | (row >= RANGE)),
            # Adding half of the table's size to the segment is flipping the top bit of the address.
            address.eq(Mux(below, segment[:SEGMENT_BITS], segment[: len(address)] ^ (size // 2))),
            exact.eq((exponent == 0) | (exponent == 255) & fraction.any()),
        ]
        rows = [value | slope << TABLE_BITS for value, slope in sigmoid_table()]
        m.submodules.table = table = Memory(shape=2 * TABLE_BITS, depth=size, init=rows)
        read = table.read_port()
        m.d.comb += [read.addr.eq(address), read.en.eq(1)]

        number, scaled, done, place = Signal(32), Signal(signed(11)), Signal(), Signal(STEP_BITS)
        zero = (exponent == 0) | (above & sign & ~exact)
        m.d.sync += [
            number.eq(Mux(zero, Cat(C(0, 31), sign), Mux(exact, C(0x7FC00000, 32), self.value))),
            scaled.eq(exponent + Mux(sign, row, 0)),
            done.eq(above | exact),
            place.eq(step),
        ]
        return self._finish(m, read.data, number, scaled, done, place)

    def _position(self, m: Module) -> tuple[Signal, Value]:
        """x * log2(e) in two's complement, and whether x is too large for it."""
        exponent, fraction, sign = self.value[23:31], self.value[:23], self.value[31]
        product, magnitude = Signal(22 + POSITION_BITS - 13), Signal(22 + POSITION_BITS - 13)
        position = Signal(signed(len(magnitude) + 1))
        shift = Signal(8)
        m.d.comb += [
            product.eq((Cat(fraction, C(1, 1)) * C(LOG2_E, 24)) >> (46 - POSITION_BITS - 7)),
            shift.eq(LARGEST_EXPONENT - exponent),
            magnitude.eq(Mux(shift[5:].any(), 0, product >> shift[:5])),
            position.eq(Mux(sign, -magnitude, magnitude)),
        ]
        return position, exponent > LARGEST_EXPONENT

    def _finish(self, m: Module, entry: Value, number: Signal, scaled: Signal, done: Signal, place: Signal) -> Module:
        """Interpolate, register, multiply by the number and round."""
        factor, multiplied = Signal(TABLE_BITS), Signal(32)
        exponent, exact = Signal(signed(11)), Signal()
        base, slope = entry[:TABLE_BITS], entry[TABLE_BITS:]
        m.d.sync += [
            factor.eq(base + ((slope * place) >> STEP_BITS)),
            multiplied.eq(number),
            exponent.eq(scaled),
            exact.eq(done),
        ]
        product, normal = Signal(24 + TABLE_BITS), Signal(24 + TABLE_BITS)
        top = len(product) - 1
        shift = Mux(product[top], 0, Mux(product[top - 1], 1, 2))
        rounded = Signal(signed(23 + 12))
        below = top - 23  # the bits under the 24 that stay
        m.d.comb += [
            product.eq(Cat(multiplied[:23], C(1, 1)) * factor),
            normal.eq(product << shift),
            rounded.eq(
                Cat(normal[below:top], (exponent + 1 - shift)[:12]).as_signed()
                + (normal[below - 1] & (normal[: below - 1].any() | normal[below]))
            ),
        ]
        magnitude = Mux((rounded >> 23) <= 0, C(0, 31), rounded[:31])
        m.d.comb += self.result.eq(Mux(exact, multiplied, Cat(magnitude, multiplied[31])))
        return m
