"""Several terms added at once, and what they are: products of BF16 numbers, or FP32 numbers."""

from __future__ import annotations

import abc
from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.arithmetic.fp32_add import normalised
from hw.arithmetic.halves import factors
from hw.arithmetic.staged import Staged, Values
from hw.primitives.timing import named
from step.language.fused import FRACTION_BITS, SIGNIFICAND

STEPS = 10

OF_TERMS = "signs", "exponents", "zeros", "significands"
"""Values that each term has one of."""

SPECIAL = "nan", "plus", "minus"
"""Whether there is a NaN, and an infinity of either sign."""


class Term(NamedTuple):
    """A number: its exponent is 0 where it is ``zero``, and greater elsewhere."""

    sign: Value
    exponent: Value
    significand: Value
    zero: Value
    infinite: Value
    nan: Value


class FusedSum(Staged):
    """``result`` (FP32) = the sum of ``terms`` terms, cut off below the largest exponent; `step.language.fused` says
    how.

    Steps: what the terms are (1), their largest exponent (2, 3), all at its scale (4, 5), their sum (6, 7), its
    magnitude (8), its top bit in place (9, 10). There are two cuts for each stage that an FP32 addition has, and one
    more.
    """

    cuts = (3, 5, 7), (2, 4, 6, 7, 8), (1, 3, 4, 6, 7, 8, 9), tuple(range(1, STEPS))

    exponent_bits: int
    """Of the exponents of terms."""
    bias: int
    """What they have more than those of FP32."""
    fraction: int
    """Bits of a significand below its exponent."""
    significand: int
    """Bits of it."""

    def __init__(self, terms: int, stages: int, ports: dict[str, int]) -> None:
        self.terms = terms
        super().__init__(stages, {name: bits * terms for name, bits in ports.items()})
        self.parameters = {"terms": self.terms, "stages": self.stages}

    @abc.abstractmethod
    def term(self, at: int) -> Term:
        """Term number ``at``."""

    def compute(self, m: Module) -> Value:
        x = self._aligned(m, self._largest(m, self._terms(m)))
        return self._finish(m, self._magnitude(m, self._sum(m, x)))

    def _terms(self, m: Module) -> Values:
        """Step 1: signs, exponents and significands, and what is not finite."""
        terms = [self.term(at) for at in range(self.terms)]
        return self.behind(
            m,
            1,
            **{name: Cat(getattr(each, name[:-1]) for each in terms) for name in OF_TERMS},
            nan=Cat(each.nan for each in terms).any(),
            plus=Cat(each.infinite & ~each.sign for each in terms).any(),
            minus=Cat(each.infinite & each.sign for each in terms).any(),
        )

    def _largest(self, m: Module, x: Values) -> Values:
        """Steps 2 and 3: the largest exponent."""
        kept = *OF_TERMS, *SPECIAL
        largest = _words(x.exponents, self.exponent_bits)
        half = (self.terms.bit_length() - 1) // 2
        for level in range(self.terms.bit_length() - 1):
            if level == half:
                x = self.behind(m, 2, **x.only(*kept), largest=Cat(largest))
                largest = _words(x.largest, self.exponent_bits)
            pairs = enumerate(_pairs(largest))
            largest = [named(m, Mux(one > other, one, other), f"larger_{level}_{at}") for at, (one, other) in pairs]
        return self.behind(m, 3, **x.only(*kept), largest=largest[0])

    def _aligned(self, m: Module, x: Values) -> Values:
        """Steps 4 and 5: the significands shifted down by what is missing to the largest exponent, with their signs."""
        kept = *SPECIAL, "largest"
        width = self.significand + FRACTION_BITS - self.fraction
        shifts = width.bit_length()
        shifted, distances = [], []
        exponents, significands = _words(x.exponents, self.exponent_bits), _words(x.significands, self.significand)
        for at, (exponent, significand) in enumerate(zip(exponents, significands, strict=True)):
            distance = Signal(self.exponent_bits, name=f"distance_{at}")
            m.d.comb += distance.eq(x.largest - exponent)
            value: Value = Cat(C(0, width - self.significand), significand)
            shifted.append(_shifted(_shifted(value, 1, distance[0]), 2, distance[1]))
            distances.append(Cat(distance[2:shifts], distance[shifts:].any() | x.zeros[at]))
        x = self.behind(m, 4, **x.only(*kept, "signs"), shifted=Cat(shifted), distances=Cat(distances))
        aligned = []
        words, distances = _words(x.shifted, width), _words(x.distances, shifts - 1)
        for at, (value, distance) in enumerate(zip(words, distances, strict=True)):
            *farther, gone = distance
            for level, choice in enumerate(farther):
                value = _shifted(value, 4 << level, choice)
                value = value if level else Mux(gone, 0, value)
            aligned.append(value ^ x.signs[at].replicate(width))
        return self.behind(m, 5, **x.only(*kept, "signs"), aligned=Cat(aligned))

    def _sum(self, m: Module, x: Values) -> Values:
        """Steps 6 and 7: the sum.

        A negative number is one more than its inverted bits. Each addition takes in the carry of one term; that of the
        last term is left over, as ``carry``.
        """
        kept = *SPECIAL, "largest"
        width = self.significand + FRACTION_BITS - self.fraction
        values = [Cat(each, sign) for each, sign in zip(_words(x.aligned, width), x.signs, strict=True)]
        levels = self.terms.bit_length() - 1
        carries = list(x.signs)
        for level in range(levels):
            if level == levels // 2:
                x = self.behind(m, 6, **x.only(*kept), values=Cat(values), carries=Cat(carries))
                values, carries = _words(x.values, len(values[0])), list(x.carries)
            values = [_added(m, f"sum_{level}_{at}", *pair, carries.pop()) for at, pair in enumerate(_pairs(values))]
        return self.behind(m, 7, **x.only(*kept), total=values[0], carry=carries[0])

    def _magnitude(self, m: Module, x: Values) -> Values:
        """Step 8: the magnitude of the sum, and the exponent that it has if its top bit is set."""
        negative, bits = x.total[-1], len(x.total) - 1
        exponent = Signal(range(-(1 << 10), 1 << 10), name="top_exponent")
        m.d.comb += exponent.eq(x.largest + (bits - 1 - FRACTION_BITS - self.bias))
        magnitude = ((x.total ^ negative.replicate(bits + 1)) + (negative ^ x.carry))[:bits]
        return self.behind(m, 8, **x.only(*SPECIAL), magnitude=magnitude, exponent=exponent, negative=negative)

    def _finish(self, m: Module, x: Values) -> Value:
        """Steps 9 and 10: the magnitude shifted up by a multiple of 4 bits, then by what is left, and the choice."""
        normal, zeros = normalised(m, x.magnitude, 16, 8, 4)
        x = self.behind(m, 9, **x.only(*SPECIAL, "exponent", "negative"), normal=normal, zeros=zeros)
        normal, zeros = normalised(m, x.normal, 2, 1)
        top = len(normal) - 1
        exponent = Signal.like(x.exponent, name="exponent")
        m.d.comb += exponent.eq(x.exponent - Cat(zeros, x.zeros))
        none, infinite = ~normal[top], x.plus | x.minus
        finite = Mux(exponent >= 255, C(0xFF << 23, 31), Cat(normal[top - SIGNIFICAND + 1 : top], exponent[:8]))
        magnitude = Mux(infinite, C(0xFF << 23, 31), Mux(none | (exponent <= 0), C(0, 31), finite))
        sign = Mux(infinite, x.minus, x.negative & ~none)
        return Mux(x.nan | (x.plus & x.minus), C(0x7FC00000, 32), Cat(magnitude, sign))


class FusedProducts(FusedSum):
    """The sum of the products of ``first`` and ``second``, so many BF16 numbers each."""

    exponent_bits, bias, fraction, significand = 9, 127, 14, 16

    def __init__(self, terms: int, stages: int) -> None:
        super().__init__(terms, stages, {"first": 16, "second": 16})

    def term(self, at: int) -> Term:
        first, second = self.first.word_select(at, 16), self.second.word_select(at, 16)
        (first, second), others = factors(first, second)
        exponent = Mux(others["zero"], 0, others["exponent"])
        return Term(**others | {"exponent": exponent}, significand=first * second)


class FusedNumbers(FusedSum):
    """The sum of so many FP32 numbers, ``values``."""

    exponent_bits, bias, fraction, significand = 8, 0, 23, 24

    def __init__(self, terms: int, stages: int) -> None:
        super().__init__(terms, stages, {"values": 32})

    def term(self, at: int) -> Term:
        value = self.values.word_select(at, 32)
        exponent, fraction = value[23:31], value[:23]
        huge = exponent == 255
        return Term(value[31], exponent, Cat(fraction, C(1, 1)), ~exponent.any(), huge, huge & fraction.any())


def _words(value: Value, width: int) -> list[Value]:
    """The parts of ``value``, of ``width`` bits each."""
    return [value[at : at + width] for at in range(0, len(value), width)]


def _pairs(values: list[Value]) -> list[tuple[Value, Value]]:
    """Neighbours."""
    return list(zip(values[::2], values[1::2], strict=True))


def _shifted(value: Value, places: int, wanted: Value) -> Value:
    """``value`` so many places down, where that is ``wanted``."""
    return Mux(wanted, Cat(value[places:], C(0, places)), value)


def _added(m: Module, name: str, first: Value, second: Value, carry: Value) -> Value:
    """The sum of two signed numbers and a bit, with a bit more than they have."""
    total = Signal(len(first) + 2, name=name)
    # The lowest bit of both makes the carry.
    m.d.comb += total.eq(Cat(C(1, 1), first, first[-1]) + Cat(carry, second, second[-1]))
    return total[1:]
