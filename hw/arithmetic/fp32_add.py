"""Sum of two FP32 numbers."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.arithmetic.staged import Staged, Values, half


class Fp32Add(Staged):
    """``result`` = ``first`` + ``second``, rounded to nearest even, in at most four stages.

    Finer cuts, for five to eight, go through the middle of these.

    One that ``begins`` sums has an input ``fresh``: with it ``first`` counts as zero, whatever it is. It may be
    unknown (X), and takes no gate at each bit.

    Subnormal numbers are zeros, in and out; NaN is canonical.

    Two paths: where nearly equal numbers are subtracted, bits cancel and the difference is shifted far, but it is exact
    (the near path); all else is rounded, but shifted by one bit at most (the far path).
    """

    cuts = (
        *((), (2,), (1, 3), (1, 2, 3), (1, 2, 3, half(4)), (1, half(2), 2, 3, half(4))),
        *((half(1), 1, half(2), 2, 3, half(4)), (half(1), 1, half(2), 2, half(3), 3, half(4))),
    )

    def __init__(self, stages: int, *, begins: bool = False) -> None:
        self.begins = begins
        super().__init__(stages, {**({"fresh": 1} if begins else {}), "first": 32, "second": 32})
        self.parameters = {**self.parameters, **({"begins": True} if self.begins else {})}

    def compute(self, m: Module) -> Value:
        return self._finish(m, self._sum(m, self._align(m, self._order(m))))

    def _order(self, m: Module) -> Values:
        """Step 1: the bigger and the smaller number, and the distance of their exponents."""
        first, second = self.first, self.second
        exponents = first[23:31], second[23:31]
        swap = Signal()
        subtract = Signal()
        less, sign = first[:31] < second[:31], first[31]
        more: dict[str, Value] = {}
        if self.begins:
            less, sign, more = less | self.fresh, sign & ~self.fresh, {"fresh": self.fresh}
        distances = Signal(8, name="distance_up"), Signal(8, name="distance_down")
        m.d.comb += [
            swap.eq(less),
            subtract.eq(sign ^ second[31]),
            distances[0].eq(exponents[1] - exponents[0]),
            distances[1].eq(exponents[0] - exponents[1]),
        ]
        numbers = {"first": first, "second": second, "up": distances[0], "down": distances[1]}
        x = self.within(m, 1, **numbers, swap=swap, subtract=subtract, **more)
        return self.behind(
            m,
            1,
            sign=Mux(x.swap, x.second[31], x.first[31]),
            **x.only("subtract"),
            exponent=Mux(x.swap, x.second[23:31], x.first[23:31]),
            fraction=Mux(x.swap, x.second[:23], x.first[:23]),
            small=Mux(x.swap, x.first[:23], x.second[:23]),
            distance=Mux(x.swap, x.up, x.down),
            **x.only(*more),
        )

    def _align(self, m: Module, x: Values) -> Values:
        """Step 2: far, the smaller number at the scale of the bigger one; near, their difference."""
        exists, infinite = x.distance != x.exponent, x.exponent.all()
        equal = ~x.distance.any()
        if self.begins:
            exists, equal = exists & ~x.fresh, equal & ~x.fresh
        # A number that far below makes no difference, not even in rounding.
        adds = exists & ~x.distance[5:].any()
        # 24 bits, guard, round, and whether anything is below.
        shifted, lost = shifted_down(m, Cat(C(0, 3), x.small, C(1, 1)), x.distance, 0, 2)
        far = self.within(m, 2, **x.only("subtract", "distance"), adds=adds, shifted=shifted, lost=lost)
        shifted, lost = shifted_down(m, far.shifted, far.distance, 2, 5)
        # Where it is subtracted, its negative but for one.
        aligned = Cat(shifted[0] | Cat(far.lost, lost).any(), shifted[1:]) ^ far.subtract.replicate(27)

        difference = Signal(25)
        small = Cat(x.small, C(1, 1))
        m.d.comb += difference.eq(Cat(C(0, 1), x.fraction, C(1, 1)) - Mux(x.distance[0], small, Cat(C(0, 1), small)))
        near = x.subtract & exists & ~x.distance[1:].any()
        nan = infinite & (x.fraction.any() | (x.subtract & equal))
        kept = x.only("sign", "exponent", "fraction")
        x = self.within(m, 2, **kept, infinite=infinite, nan=nan, near=near, difference=difference)
        normal, zeros = normalised(m, x.difference[:24], 16)
        return self.behind(
            m,
            2,
            **x.only("sign"),
            **far.only("subtract"),
            **x.only("exponent", "fraction"),
            zero=~x.exponent.any(),
            **x.only("infinite", "nan"),
            aligned=Mux(far.adds, aligned, 0),
            negative=far.adds & far.subtract,
            near=x.near & ~x.difference[24],
            difference=normal,
            zeros=zeros,
        )

    def _sum(self, m: Module, x: Values) -> Values:
        """Step 3: far, the sum with its top bit in place, and whether to round it up; near, a part of the shift."""
        total = Signal(28)
        m.d.comb += total.eq(Cat(x.negative, C(0, 2), x.fraction, C(1, 2)) + Cat(x.aligned, x.negative))
        others = "sign", "subtract", "exponent", "zero", "infinite", "nan", "near"
        x = self.within(m, 3, **x.only(*others, "difference", "zeros"), total=total)
        total = x.total
        longer, same = total[27], total[26]
        kept = Signal(23)
        m.d.comb += kept.eq(Mux(longer, total[4:27], Mux(same, total[3:26], total[2:25])))
        guard = Mux(longer, total[3], Mux(same, total[2], total[1]))
        below = Mux(longer, total[:3].any(), Mux(same, total[:2].any(), total[0]))
        normal, zeros = normalised(m, x.difference, 8, 4)
        return self.behind(
            m,
            3,
            **x.only(*others),
            kept=kept,
            longer=longer,
            shorter=~longer & ~same,
            up=guard & (below | kept[0]),
            difference=normal,
            zeros=Cat(zeros, x.zeros),
        )

    def _finish(self, m: Module, x: Values) -> Value:
        """Step 4: round, shift what is left to shift, and choose."""
        far = Signal(32)
        # Exponent and fraction in one number, so that a carry out of the fraction reaches the exponent, to which one is
        # added, or from which it is taken.
        change = Cat(x.longer | x.shorter, x.shorter.replicate(8))
        m.d.comb += far.eq(Cat(x.kept, x.exponent) + Cat(x.up, C(0, 22), change))
        normal, zeros = normalised(m, x.difference, 2, 1)
        exponent = Signal(9)
        # One less, and less the zeros.
        m.d.comb += exponent.eq(x.exponent + Cat(~Cat(zeros, x.zeros), C(15, 4)))
        kept = x.only("sign", "subtract", "zero", "infinite", "nan", "near")
        x = self.within(m, 4, **kept, far=far, normal=normal, exponent=exponent)
        far, normal, exponent = x.far, x.normal, x.exponent
        cancelled = ~normal[23]
        underflow = cancelled | exponent[8] | ~exponent.any()
        zero = x.zero | (x.near & underflow)
        infinite = x.infinite | (~x.near & (far[31] | far[23:31].all()))
        number = Mux(x.near, Cat(normal[:23], exponent[:8]), far[:31])
        magnitude = Mux(infinite, C(0xFF << 23, 31), Mux(zero, C(0, 31), number))
        sign = x.sign & ~(x.subtract & (x.zero | (x.near & cancelled)))
        return Mux(x.nan, C(0x7FC00000, 32), Cat(magnitude, sign))


def normalised(m: Module, value: Value, *steps: int) -> tuple[Value, Value]:
    """``value`` shifted left by each of ``steps``, the largest first, if so many bits are zero at the top; and by how
    much."""
    zeros: list[Value] = []
    for step in steps:
        empty, shifted = Signal(name=f"top_{step}_empty"), Signal(len(value), name=f"normal_{step}")
        m.d.comb += [
            empty.eq(~value[len(value) - step :].any()),
            shifted.eq(Mux(empty, Cat(C(0, step), value[: len(value) - step]), value)),
        ]
        zeros.insert(0, empty)
        value = shifted
    return value, Cat(zeros)


def shifted_down(m: Module, value: Value, distance: Value, begin: int, end: int) -> tuple[Value, Value]:
    """``value`` shifted right by these bits of ``distance``, and for each whether it lost a bit that was set."""
    lost = []
    for at in range(begin, end):
        farther, step, before = distance[at], 1 << at, value
        value = Signal(len(before), name=f"shifted_{step}")
        lost.append(farther & before[:step].any())
        m.d.comb += value.eq(Mux(farther, before[step:], before))
    return value, Cat(lost)
