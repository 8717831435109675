"""Functions by tables: their accuracy against float64, and what they do at the ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import sympy
from cases import cases

from step.functions.elementwise import Abs, Clamp, Relu
from step.functions.exp import Exp, powers_of_two
from step.functions.gelu import Gelu, logarithms
from step.functions.log import Log
from step.functions.log import slopes as slopes_of_log
from step.functions.reciprocal import Div, Reciprocal, reciprocals
from step.functions.rounding import Round
from step.functions.rsqrt import Rsqrt, Sqrt, powers
from step.functions.silu import Sigmoid, Silu
from step.functions.sine import Cos, Sin
from step.functions.sine import slopes as slopes_of_sine
from step.functions.tanh import Erf, Tanh, slopes
from step.language import numerics
from step.language.dtypes import BF16, FP32, DType
from step.language.scalars import Elementwise
from step.language.table import Table

EVERY = np.arange(1 << 16, dtype=np.uint16).view(BF16.numpy)
NORMAL = 2.0**-126
GeluByTanh = partial(Gelu, approximate="tanh")
LARGEST = {BF16: 255 * 2.0**120, FP32: float(np.finfo(np.float32).max)}

Reference = Callable[[np.ndarray], np.ndarray]


def gelu_by_tanh(x: np.ndarray) -> np.ndarray:
    """x / 2 * (1 + tanh(..)), without its cancellation."""
    return x / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


REFERENCES: dict[Any, Reference] = {
    Erf: np.vectorize(math.erf),
    Exp: np.exp,
    Gelu: np.vectorize(lambda x: x * math.erfc(-x / math.sqrt(2)) / 2),
    Log: np.log,
    Reciprocal: lambda x: 1 / x,
    GeluByTanh: gelu_by_tanh,
    Rsqrt: lambda x: 1 / np.sqrt(x),
    Sigmoid: lambda x: 1 / (1 + np.exp(-x)),
    Sqrt: np.sqrt,
    Silu: lambda x: x / (1 + np.exp(-x)),
    Tanh: np.tanh,
}


def errors(function: Any, values: np.ndarray, out: DType) -> tuple[np.ndarray, np.ndarray]:
    """In units of the last place, and relative ones, of all results that are normal numbers; of subnormal ones none."""
    with numerics.quiet():
        x = values.astype(np.float64)
        x = np.where(np.isfinite(x) & (np.abs(x) >= NORMAL), x, 1)
        exact = REFERENCES[function](x)
        got = function(out).apply(x[None].astype(values.dtype))[0].astype(np.float64)
    assert np.all(got[np.abs(exact) < NORMAL * (1 - 2.0**-8)] == 0)
    fits = np.isfinite(exact) & (np.abs(exact) >= NORMAL) & (np.abs(exact) <= LARGEST[out])
    exact, error = exact[fits], np.abs(got - exact)[fits]
    bits = 7 if out is BF16 else 23
    return error / 2.0 ** (np.floor(np.log2(np.abs(exact))) - bits), error / np.abs(exact)


@cases(
    (Exp, 0.501, 2.2e-6), (Gelu, 0.51, 4e-5), (GeluByTanh, 0.51, 4e-5), (Reciprocal, 0.501, 1.2e-6),
    (Rsqrt, 0.501, 1.6e-6), (Silu, 0.51, 9e-5), (Tanh, 0.501, 2.1e-5),
    (Sigmoid, 0.51, 9e-5), (Sqrt, 0.501, 6.1e-7), (Erf, 0.505, 2.1e-5), (Log, 0.501, 4e-7),
)  # fmt: skip
def test_accuracy_for_every_bf16_number(function: Any, ulp: float, relative: float) -> None:
    units, _ = errors(function, EVERY, BF16)
    assert len(units) > 20_000 and 0.49 < units.max() < ulp
    assert errors(function, EVERY, FP32)[1].max() < relative


@cases(
    (Exp, 88, 2.2e-6), (Gelu, 13, 4e-5), (GeluByTanh, 10, 1.4e-4), (Reciprocal, 0, 1.2e-6), (Rsqrt, 0, 1.6e-6),
    (Silu, 88, 9e-5), (Silu, 20, 9e-5), (Tanh, 9, 2.1e-5), (Sigmoid, 88, 9e-5), (Sigmoid, 20, 9e-5),
    (Sqrt, 0, 6.1e-7), (Erf, 4, 2.1e-5), (Log, 0, 4e-7), (Log, 3, 4e-7),
)  # fmt: skip
def test_accuracy_for_fp32(function: Any, reach: float, relative: float) -> None:
    random = np.random.default_rng(5)
    if reach:
        values = random.uniform(-reach, reach, 100_000).astype(np.float32)
    else:
        values = random.integers(1, 1 << 31, 100_000, dtype=np.uint32).view(np.float32)
    assert relative / 3 < errors(function, values, FP32)[1].max() < relative


@cases((Sin, np.sin), (Cos, np.cos))
def test_accuracy_of_angles(function: Any, reference: Reference) -> None:
    """Of every finite number, in FP32 an absolute one; sines of small angles are as exact as other functions."""
    random = np.random.default_rng(5)
    angles = random.uniform(-40_000, 40_000, (1, 100_000)).astype(np.float32)
    assert np.abs(function().apply(angles) - reference(angles.astype(np.float64))).max() < 4e-7
    small = (random.uniform(-1, 1, (1, 100_000)) * 2.0 ** -random.integers(0, 30, 100_000)).astype(np.float32)
    exact = reference(small.astype(np.float64))
    assert (np.abs(function().apply(small) - exact) / np.abs(exact)).max() < 1e-6
    with numerics.quiet():
        every = function().apply(EVERY[None])[0].astype(np.float64)
    huge = [int(np.ldexp(np.float64(each), 100)) for each in (1.0, 1.5, 1.9921875)]  # BF16 numbers, reduced by integers
    turn = int(sympy.floor(2 * sympy.pi * 2**200))
    for number in huge:
        found = function().apply(np.array([[number]], np.float32)).item()
        assert abs(found - reference(np.float64((number << 200) % turn / 2.0**200))) < 4e-7
    assert np.isnan(every[~np.isfinite(EVERY.astype(np.float32))]).all() and np.nanmax(np.abs(every)) == 1


def test_accuracy_of_quotients() -> None:
    random = np.random.default_rng(6)
    first, second = random.integers(0, 1 << 32, (2, 1, 1_000_000), dtype=np.uint32).view(np.float32)
    with numerics.quiet():
        first, second = numerics.flush(first), numerics.flush(second)
        exact = first.astype(np.float64) / second
        got = Div().apply(first, second).astype(np.float64)
        fits = np.isfinite(exact) & (np.abs(exact) >= NORMAL) & (np.abs(exact) <= LARGEST[FP32] * (1 - 2.0**-10))
        assert (np.abs(got - exact)[fits] / np.abs(exact[fits])).max() < 1.2e-6
        small = np.abs(exact) < NORMAL * (1 - 2.0**-10)
        assert np.all(got[small] == 0) and np.array_equal(np.signbit(got[small]), np.signbit(exact[small]))
        assert np.all(np.isinf(got[np.abs(exact) > LARGEST[FP32] * 1.0001]))
        narrow = [each.astype(BF16.numpy) for each in (first, second)]
        exact = narrow[0].astype(np.float64) / narrow[1].astype(np.float64)
        # The smallest normal number may become the one below, which is a zero.
        fits = np.isfinite(exact) & (np.abs(exact) > NORMAL) & (np.abs(exact) <= LARGEST[BF16])
        error = np.abs(Div().apply(*narrow).astype(np.float64) - exact)[fits]
    assert (error / 2.0 ** (np.floor(np.log2(np.abs(exact[fits]))) - 7)).max() < 0.501


def row(*numbers: float) -> np.ndarray:
    return np.array([numbers], np.float32)


def bits(values: np.ndarray) -> list[str]:
    return [f"{int(each):08x}" for each in values[0].view(np.uint32)]


INFINITY, MINUS_INFINITY, NAN, ZERO, MINUS_ZERO, ONE, MINUS_ONE = (
    "7f800000", "ff800000", "7fc00000", "00000000", "80000000", "3f800000", "bf800000",
)  # fmt: skip
SPECIALS = row(np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, 1e-40, -1e-40)


@cases(
    (Exp(), [INFINITY, ZERO, NAN, NAN, ONE, ONE, ONE, ONE],
     [88.72, 88.73, 256, 3e38, -87.3, -87.4, -300, -3e38, 2.0**-126],
     ["7f7f4634", INFINITY, INFINITY, INFINITY, "0084c39a", ZERO, ZERO, ZERO, ONE]),
    (Gelu(), [INFINITY, MINUS_ZERO, NAN, NAN, ZERO, MINUS_ZERO, ZERO, MINUS_ZERO],
     [16, -16, 300, -300, 2.0**-125, -(2.0**-125)],
     ["41800000", MINUS_ZERO, "43960000", MINUS_ZERO, "00800000", "80800000"]),
    (Gelu(approximate="tanh"), [INFINITY, MINUS_ZERO, NAN, NAN, ZERO, MINUS_ZERO, ZERO, MINUS_ZERO],
     [16, -16, 300, -300, 2.0**-125, -(2.0**-125), -10.5],
     ["41800000", MINUS_ZERO, "43960000", MINUS_ZERO, "00800000", "80800000", MINUS_ZERO]),
    (Silu(), [INFINITY, MINUS_ZERO, NAN, NAN, ZERO, MINUS_ZERO, ZERO, MINUS_ZERO],
     [300, -300], ["43960000", MINUS_ZERO]),
    (Tanh(), [ONE, MINUS_ONE, NAN, NAN, ZERO, MINUS_ZERO, ZERO, MINUS_ZERO],
     [8, -8, 300, -300, 7.99, -7.99, 2.0**-126, -(2.0**-30)],
     [ONE, MINUS_ONE, ONE, MINUS_ONE, ONE, MINUS_ONE, "00800000", "b0800000"]),
    (Reciprocal(), [ZERO, MINUS_ZERO, NAN, NAN, INFINITY, MINUS_INFINITY, INFINITY, MINUS_INFINITY],
     [1, -2, 0.25, 2.0**126, 2.0**127, -3e38, 2.0**-126],
     [ONE, "bf000000", "40800000", "00800000", ZERO, MINUS_ZERO, "7e800000"]),
    (Rsqrt(), [ZERO, NAN, NAN, NAN, INFINITY, MINUS_INFINITY, INFINITY, MINUS_INFINITY],
     [1, 4, 0.25, -1, 2.0**126, 2.0**-126], [ONE, "3f000000", "40000000", NAN, "20000000", "5f000000"]),
    (Sqrt(), [INFINITY, NAN, NAN, NAN, ZERO, MINUS_ZERO, ZERO, MINUS_ZERO],
     [1, 4, 0.25, -1, 2.0**126, 2.0**-126], [ONE, "40000000", "3f000000", NAN, "5f000000", "20000000"]),
    (Sigmoid(), [ONE, ZERO, NAN, NAN, "3f000000", "3f000000", "3f000000", "3f000000"],
     [300, -300, 12, -87.3, -87.4], [ONE, ZERO, ONE, "0084c540", ZERO]),
    (Erf(), [ONE, MINUS_ONE, NAN, NAN, ZERO, MINUS_ZERO, ZERO, MINUS_ZERO], [8, -4, 2.0**-126],
     [ONE, MINUS_ONE, "00906eba"]),
    (Log(), [INFINITY, NAN, NAN, NAN, *[MINUS_INFINITY] * 4], [1, -1, 2, 2.0**-126, 3.4028235e38],
     [ZERO, NAN, "3f317218", "c2aeac50", "42b17218"]),
    (Sin(), [NAN, NAN, NAN, NAN, ZERO, MINUS_ZERO, ZERO, MINUS_ZERO], [2.0**-126, math.pi, -math.pi / 2],
     ["00800000", "b3b56d4e", MINUS_ONE]),
    (Cos(), [NAN, NAN, NAN, NAN, ONE, ONE, ONE, ONE], [2.0**-126, math.pi, -math.pi / 2], [ONE, MINUS_ONE, "b32b3780"]),
    (Round(), [INFINITY, MINUS_INFINITY, NAN, NAN, ZERO, MINUS_ZERO, ZERO, MINUS_ZERO], [0.5, 1.5, -0.3, 2.0**31],
     [ZERO, "40000000", MINUS_ZERO, "4f000000"]),
    (Round(direction="floor"), [INFINITY, MINUS_INFINITY, NAN, NAN, ZERO, MINUS_ZERO, ZERO, MINUS_ZERO],
     [-0.1, 1.9, 8388607.5], [MINUS_ONE, ONE, "4afffffe"]),
    (Relu(), [INFINITY, ZERO, NAN, NAN, ZERO, MINUS_ZERO, ZERO, MINUS_ZERO], [-3, 1], [ZERO, ONE]),
    (Abs(), [INFINITY, INFINITY, NAN, NAN, ZERO, ZERO, ZERO, ZERO], [-1, 1], [ONE, ONE]),
    (Clamp(-1, np.inf), [INFINITY, MINUS_ONE, NAN, NAN, ZERO, MINUS_ZERO, ZERO, MINUS_ZERO], [-3, 1], [MINUS_ONE, ONE]),
    (Clamp(0.0, -0.0), [MINUS_ZERO, MINUS_ZERO, NAN, NAN, *[MINUS_ZERO] * 4], [-3, 1], [MINUS_ZERO, MINUS_ZERO]),
)  # fmt: skip
def test_ends(function: Elementwise, specials: list[str], values: list[float], results: list[str]) -> None:
    assert bits(function.apply(SPECIALS)) == specials
    assert bits(function.apply(row(*values))) == results


def test_quotients_of_specials_are_those_of_ieee_754() -> None:
    ends = row(np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -2.0)
    first, second = (each.reshape(1, -1) for each in np.meshgrid(ends, ends))
    with numerics.quiet():
        exact = numerics.canonical(first / second)
    assert bits(Div().apply(first, second)) == bits(exact)
    assert bits(Div().apply(row(3e38, -3e38, 2.0**126), row(0.1, 2.0**127, 2.0**-1))) == [
        INFINITY,
        "bfe1b1e6",
        "7f000000",
    ]


TABLES = (
    powers_of_two(), logarithms(), logarithms("tanh"), reciprocals(), powers(-0.5), powers(0.5), slopes(math.tanh),
    slopes(math.erf), slopes_of_log(), slopes_of_sine(),
)  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_tables_fit_memories_and_multipliers_of_an_fpga(table: Table) -> None:
    """A rise with its sign has 18 bits at most, and so has a place."""
    assert table.step_bits < 18
    for value, rise in table.entries:
        assert 0 < value < 1 << 26 and -(1 << 17) <= rise < 1 << 17 and value + rise > 0
