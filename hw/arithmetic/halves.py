"""Products of mantissas by halves, each of which fits a multiplier of an FPGA."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Value

from hw.arithmetic.staged import Values

HALF = 12


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
