"""Products of mantissas by halves, each of which fits a multiplier of an FPGA."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Value

from hw.arithmetic.staged import Staged, Values

HALF = 12


def factors(first: Value, second: Value) -> tuple[list[Value], dict[str, Value]]:
    """The mantissas of two numbers of BF16 or FP32, and by name what else the product comes from: the sum of both
    exponents is greater by 127 than that of FP32."""
    exponents, fractions = [first[-9:-1], second[-9:-1]], [first[:-9], second[:-9]]
    zero = ~exponents[0].any() | ~exponents[1].any()
    huge = [each == 255 for each in exponents]
    not_number = (huge[0] & fractions[0].any()) | (huge[1] & fractions[1].any())
    return [Cat(each, C(1, 1)) for each in fractions], {
        "exponent": exponents[0] + exponents[1],
        "sign": first[-1] ^ second[-1],
        "zero": zero,
        "infinite": huge[0] | huge[1],
        "nan": not_number | ((huge[0] | huge[1]) & zero),
    }


def products_of_halves(first: Value, second: Value) -> dict[str, Value]:
    """Lower times lower and upper times upper half side by side (``outer``), and both others, of 24 bits at most."""
    low, high = first[:HALF], first[HALF:]
    return {
        "outer": Cat(low * second[:HALF], high * second[HALF:]),
        "cross": low * second[HALF:],
        "crossed": high * second[:HALF],
    }


def whole_product(x: Values) -> Value:
    """The product of `products_of_halves`."""
    return (x.outer + Cat(C(0, HALF), x.cross + x.crossed))[: len(x.outer)]


def multiplied(unit: Staged, m: Module, step: int, first: Value, second: Value, **kept: Value) -> Values:
    """``step`` and the next one of ``unit``: the ``product`` of both, and what is ``kept``."""
    x = unit.within(m, step, first=first, second=second, **kept)
    x = unit.behind(m, step, **products_of_halves(x.first, x.second), **x.only(*kept))
    x = unit.within(m, step + 1, **vars(x))
    return unit.behind(m, step + 1, product=whole_product(x), **x.only(*kept))


def finished(x: Values, fraction: Value, exponent: Value, small: Value, large: Value) -> Value:
    """The product in FP32 of `factors`, ``x``, with this ``fraction`` and ``exponent``, unless that is too ``small`` or
    too ``large``."""
    magnitude = Mux(x.infinite | large, C(0xFF << 23, 31), Mux(x.zero | small, C(0, 31), Cat(fraction, exponent)))
    return Mux(x.nan, C(0x7FC00000, 32), Cat(magnitude, x.sign))
