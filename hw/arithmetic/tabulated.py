"""Functions from a table: how it is read, where e^x is in one, and how results are rounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from amaranth.hdl import C, Cat, Module, Mux, Shape, Signal, Value
from amaranth.lib.memory import Memory

from hw.arithmetic.halves import products_of_halves, whole_product
from hw.arithmetic.staged import Staged, Values, half
from step.functions.exp import LARGEST_EXPONENT, LOG2_E, POSITION_BITS
from step.language.table import Table

HUGE = 127 + LARGEST_EXPONENT
"""Biased exponent of the largest numbers that have a position."""


NEVER = C(0, 1)

ROUNDING, ROUNDED = half(0), half(-1)
"""The cuts in front of the sum of rounding, of five stages and more, and behind it, of eight."""


class Tabulated(Staged):
    """Arithmetic with a table in a memory, which is read with the clock: the step that does so is always a cut.

    Classes say the cuts for at most four stages. With five there is one more, with six one behind every step, with
    seven one in front of each product or behind it, as multipliers of an FPGA are far, and with eight one more.
    """

    products: ClassVar[tuple[int, ...]]
    """The steps that have a register in front with seven stages: those that multiply, or that add products."""

    def __init_subclass__(cls, **others: Any) -> None:
        super().__init_subclass__(**others)
        if "cuts" in vars(cls):
            finest = cls.cuts[-1]
            every = (*range(1, finest[-1] + 1), ROUNDING)
            apart = (*every, *map(half, cls.products))
            more = (*finest, ROUNDING), every, apart, (*apart, ROUNDED)
            cls.cuts = (*cls.cuts, *[finest] * (4 - len(cls.cuts)), *more)

    def locate(self, m: Module, value: Value) -> Values:
        """Steps 1 to 3: the ``magnitude`` of x * log2(e), if x is not huge; x is the ``number``."""
        x = self.within(m, 1, number=value)
        mantissa = Cat(x.number[:23], C(1, 1))
        x = self.behind(m, 1, number=x.number, **products_of_halves(mantissa, C(LOG2_E, 24)))
        product = whole_product(x)[46 - POSITION_BITS - LARGEST_EXPONENT :]
        x = self.behind(m, 2, product=product, shift=(HUGE - x.number[23:31])[:8], number=x.number)
        magnitude = Mux(x.shift[5:].any(), 0, x.product >> x.shift[:5])
        return self.behind(m, 3, magnitude=magnitude, number=x.number)

    def place(self, m: Module, value: Value, largest: int) -> tuple[Value, Value, Value]:
        """The magnitude of ``value`` below 2^(``largest`` + 1) as an integer; whether it is beyond, and whether NaN."""
        exponent, fraction, shift = value[23:31], value[:23], Signal(8, name="shift")
        m.d.comb += shift.eq(127 + largest - exponent)
        place = Mux(shift[5:].any(), 0, Cat(fraction, C(1, 1)) >> shift[:5])
        return place, exponent > 127 + largest, (exponent == 255) & fraction.any()

    def item(self, m: Module, step: int, rows: Sequence[int], bits: int, place: Value) -> Value:
        """The row at ``place`` as it is behind ``step``."""
        m.submodules[f"table_{step}"] = memory = Memory(shape=bits, depth=len(rows), init=rows)
        read = memory.read_port()
        m.d.comb += [read.addr.eq(place), read.en.eq(1)]
        return read.data

    def read(self, m: Module, step: int, table: Table, place: Value, *segment: Value, **kept: Value) -> Values:
        """``step`` and the next three: the ``factor`` at ``place``, and what is ``kept``.

        The lower bits of a place are those within a segment; ``segment`` may go on with the upper ones.
        """
        value_bits = max(value for value, _ in table.entries).bit_length()
        rises = _shape_of([rise for _, rise in table.entries])
        rows = [value | (rise & (1 << rises.width) - 1) << value_bits for value, rise in table.entries]
        entry = self.item(m, step, rows, value_bits + rises.width, Cat(place[table.step_bits :], *segment))
        x = self.behind(m, step, place=place[: table.step_bits], **kept)
        x = self.behind(m, step + 1, entry=entry, place=x.place, **x.only(*kept))
        x = self.within(m, step + 2, **vars(x))
        rise = x.entry[value_bits:]
        more = ((rise.as_signed() if rises.signed else rise) * x.place) >> table.step_bits
        x = self.behind(m, step + 2, base=x.entry[:value_bits], more=more, **x.only(*kept))
        return self.behind(m, step + 3, factor=(x.base + x.more)[:value_bits], **x.only(*kept))

    def rounded(
        self,
        m: Module,
        significand: Value,
        exponent: Value,
        places: int,
        *,
        zero: Value = NEVER,
        infinite: Value = NEVER,
        **kept: Value,
    ) -> Values:
        """The ``magnitude`` in FP32 of ``significand``, whose first one is among the upper ``places`` bits, and what
        is ``kept``.

        ``exponent`` (signed) is the biased one of the result if it is the top bit. Rounded to nearest even; then what
        is too large becomes an infinity, and what is too small a zero; so does what is ``infinite`` or ``zero`` anyway.
        """
        top = len(significand) - 1

        def chosen(values: list[Value]) -> Value:
            """The value for the place of the first one."""
            *upper, value = values
            for at in reversed(range(len(upper))):
                value = Mux(significand[top - at], upper[at], value)
            return value

        normal = Signal(top + 1, name="normal")
        m.d.comb += normal.eq(chosen([significand << at for at in range(places)]))
        fraction, guard, below = normal[top - 23 : top], normal[top - 24], normal[: top - 24]
        unrounded = Cat(fraction, chosen([exponent - at for at in range(places)]))
        up = guard & (below.any() | fraction[0])
        x = self.within(m, 0, unrounded=unrounded, up=up, zero=zero, infinite=infinite, **kept)
        result = Signal(len(unrounded), name="rounded")
        m.d.comb += result.eq(x.unrounded + x.up)
        x = self.within(m, -1, result=result, **x.only("zero", "infinite", *kept))
        result = x.result
        above = result[23:]  # looked at bit by bit, as comparisons would have one more carry
        beyond = above[8:-1].any() | above[:8].all()
        large = Signal(name="large")
        keeps = Signal(name="keeps")
        m.d.comb += [
            large.eq(x.infinite | (~above[-1] & beyond & ~x.zero)),
            keeps.eq(~(x.infinite | x.zero | above[-1] | ~above.any() | beyond)),
        ]
        magnitude = Cat(result[:23] & keeps.replicate(23), result[23:31] & keeps.replicate(8) | large.replicate(8))
        return Values(magnitude=magnitude, **x.only(*kept))


def _shape_of(numbers: list[int]) -> Shape:
    """The shape of a signal that holds all ``numbers``."""
    return Shape.cast(range(min(0, *numbers), max(0, *numbers) + 1))
