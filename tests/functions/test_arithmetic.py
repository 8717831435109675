"""The arithmetic leaves against the NumPy definitions, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import patterns
import pytest
from driving import played
from verilated import HARMLESS, Verilated, kinds, lint

from hw.arithmetic.bf16_multiply import Bf16Multiply
from hw.arithmetic.convert import Convert
from hw.arithmetic.divide import Divide, Reciprocal
from hw.arithmetic.exp import Exp
from hw.arithmetic.fp32_add import Fp32Add
from hw.arithmetic.fp32_multiply import Fp32Multiply
from hw.arithmetic.gelu import Gelu
from hw.arithmetic.integer_multiply import IntegerMultiply
from hw.arithmetic.integers import FromInteger, ToInteger
from hw.arithmetic.log import Log
from hw.arithmetic.multiply_accumulate import MultiplyAccumulate
from hw.arithmetic.rounding import Round
from hw.arithmetic.rsqrt import Rsqrt, Sqrt
from hw.arithmetic.silu import Sigmoid, Silu
from hw.arithmetic.sine import Cos, Sin
from hw.arithmetic.tanh import Erf, Tanh
from hw.verilog.modules import Parametric
from step.functions.exp import exp
from step.functions.gelu import gelu
from step.functions.log import log
from step.functions.matmul import Matmul
from step.functions.reciprocal import divide
from step.functions.rounding import ROUNDINGS
from step.functions.rsqrt import rsqrt, sqrt
from step.functions.silu import sigmoid, silu
from step.functions.sine import cos, sin
from step.functions.tanh import erf, tanh
from step.language import numerics
from step.language.dtypes import BF16, FP8_E4M3, FP32, INT8, INT32, STORED, UINT32, DType
from step.lowering.limits import MOST_STAGES

Vectors = dict[str, np.ndarray]
Leaf = tuple[Callable[[int], Parametric], Callable[[np.random.Generator, int], Vectors], Callable[..., np.ndarray]]


def fp32(values: np.ndarray) -> np.ndarray:
    return numerics.widen(values.astype(np.uint32).view(np.float32))


def bf16(values: np.ndarray) -> np.ndarray:
    return numerics.widen(values.astype(np.uint16).view(BF16.numpy))


def pairs(random: np.random.Generator, count: int) -> Vectors:
    first = patterns.fp32(random, count)
    return {"first": first, "second": patterns.near(random, first)}


def halves(random: np.random.Generator, count: int) -> Vectors:
    return {name: values >> 16 for name, values in pairs(random, count).items()}


def beginnings(random: np.random.Generator, count: int) -> Vectors:
    return {"fresh": random.integers(0, 2, count), **pairs(random, count)}


def accumulations(random: np.random.Generator, count: int) -> Vectors:
    operands = halves(random, count)
    product = numerics.flush(bf16(operands["first"]) * bf16(operands["second"])).view(np.uint32)
    return {"fresh": random.integers(0, 4, count) == 0, "sum": patterns.near(random, product), **operands}


def single(random: np.random.Generator, count: int) -> Vectors:
    return {"value": patterns.fp32(random, count)}


def single_half(random: np.random.Generator, count: int) -> Vectors:
    return {"value": patterns.fp32(random, count) >> 16}


def around_zero(random: np.random.Generator, count: int) -> Vectors:
    moderate = random.normal(0, 40, count).astype(np.float32).view(np.uint32)
    return {"value": np.where(random.random(count) < 0.7, moderate, patterns.fp32(random, count))}


def around_integers(random: np.random.Generator, count: int) -> Vectors:
    """Numbers with and without fractions, ties and the limits of the formats."""
    limits = random.choice([0, 127, 128, 2**31, 2**32], count) * random.choice([-1.0, 1.0], count)
    moderate = (limits + random.integers(-9, 9, count) / 4).astype(np.float32).view(np.uint32)
    return {"value": np.where(random.random(count) < 0.7, moderate, patterns.fp32(random, count))}


def around_one(random: np.random.Generator, count: int) -> Vectors:
    """Numbers next to 1, and of any size."""
    near = np.float32(1).view(np.uint32) + random.integers(-4000, 4000, count) * random.choice([1, 3000], count)
    return {"value": np.where(random.random(count) < 0.5, near, patterns.fp32(random, count)).astype(np.uint32)}


def around_stored(random: np.random.Generator, count: int, dtype: DType) -> Vectors:
    """Numbers of the range of ``dtype``, beyond it and below, many of them ties or next to one."""
    some = random.integers(0, 1 << dtype.bits, count, dtype=np.uint32)
    between = numbers(some, dtype).astype(np.float32).view(np.uint32)
    halves = np.uint32(1) << np.uint32(22 - ml_dtypes.finfo(dtype.numpy).nmant)
    near = between + random.choice([0, halves], count) + random.integers(-2, 3, count).astype(np.uint32)
    return {"value": np.where(random.random(count) < 0.8, near, patterns.fp32(random, count)).astype(np.uint32)}


def every(random: np.random.Generator, count: int, dtype: DType) -> Vectors:
    """All patterns of a format, or as many as that."""
    all_of_them = np.arange(1 << dtype.bits, dtype=np.uint32)
    return {"value": all_of_them if len(all_of_them) <= count else random.permutation(all_of_them)[:count]}


def integers(*dtypes: DType) -> Callable[[np.random.Generator, int], Vectors]:
    """Patterns of integers, many of them limits or next to a power of two."""

    def vectors(random: np.random.Generator, count: int) -> Vectors:
        names = ["first", "second"] if len(dtypes) == 2 else ["value"]
        result = {}
        for name, dtype in zip(names, dtypes, strict=True):
            mask = np.uint64(2**dtype.bits - 1)
            edges = (np.uint64(1) << random.integers(0, dtype.bits, count).astype(np.uint64)) + random.integers(
                -2, 3, count
            ).astype(np.uint64)
            anything = random.integers(0, 2**dtype.bits, count, dtype=np.uint64)
            negated = np.where(random.random(count) < 0.5, edges, -edges)
            result[name] = (np.where(random.random(count) < 0.5, anything, negated) & mask).astype(np.uint32)
        return result

    return vectors


def numbers(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Patterns as integers of ``dtype``."""
    return values.astype(f"u{dtype.bits // 8}").view(dtype.numpy)


def product(first: DType, second: DType, out: DType) -> Callable[..., np.ndarray]:
    """The lowest bits of exact products, by Python's integers."""

    def multiplied(**vectors: np.ndarray) -> np.ndarray:
        pairs = zip(numbers(vectors["first"], first), numbers(vectors["second"], second), strict=True)
        return np.array([int(one) * int(other) & (1 << out.bits) - 1 for one, other in pairs], np.uint32)

    return multiplied


def begin(fresh: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """An addition of zero where ``fresh``."""
    return _bits(numerics.add(np.where(fresh, np.float32(0), fp32(first)), fp32(second)))


def accumulate(fresh: np.ndarray, sum: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The definition itself, one scalar after the other where K is 1: a row by a 1 x 1 tile would not do."""
    state = np.array([np.where(fresh, np.float32(0), numerics.flush(sum.astype(np.uint32).view(np.float32)))])
    columns = second.astype(np.uint16).view(BF16.numpy)[None]
    rows = first.astype(np.uint16).view(BF16.numpy)
    parts = [Matmul().update(state[:, [at]], rows[[at], None], columns[:, [at]]) for at in range(len(rows))]
    return np.concatenate(parts, axis=1)[0].view(np.uint32)


LEAVES: dict[str, Leaf] = {
    "add": (Fp32Add, pairs, lambda first, second: _bits(numerics.add(fp32(first), fp32(second)))),
    "begin": (partial(Fp32Add, begins=True), beginnings, begin),
    "multiply": (Fp32Multiply, pairs, lambda first, second: _bits(numerics.multiply(fp32(first), fp32(second)))),
    "multiply_bf16": (Bf16Multiply, halves, lambda first, second: _bits(numerics.flush(bf16(first) * bf16(second)))),
    "accumulate": (MultiplyAccumulate, accumulations, accumulate),
    "to_bf16": (lambda stages: Convert(FP32, BF16), single,
        lambda value: numerics.narrow(fp32(value), BF16).view(np.uint16)),
    "to_fp32": (lambda stages: Convert(BF16, FP32), single_half, lambda value: _bits(bf16(value))),
    "same_fp32": (lambda stages: Convert(FP32, FP32), single, lambda value: _bits(fp32(value))),
    "same_bf16": (lambda stages: Convert(BF16, BF16), single_half,
        lambda value: numerics.narrow(bf16(value), BF16).view(np.uint16)),
    **{
        f"narrow_to_{out}{'_saturated' * saturate}".lower(): (
            lambda stages, out=out, saturate=saturate: Convert(FP32, out, saturate=saturate),
            partial(around_stored, dtype=out),
            lambda value, out=out, saturate=saturate: _patterns(numerics.narrow(fp32(value), out, saturate=saturate)),
        )
        for out in STORED
        for saturate in (False, True)
    },
    **{
        f"widen_{source}_to_{out}".lower(): (
            lambda stages, source=source, out=out: Convert(source, out),
            partial(every, dtype=source),
            lambda value, source=source, out=out: _patterns(numerics.convert(numbers(value, source), out)),
        )
        for source in STORED
        for out in (FP32, BF16, FP8_E4M3)
    },
    "silu": (Silu, around_zero, lambda value: _bits(silu(fp32(value)))),
    "sigmoid": (Sigmoid, around_zero, lambda value: _bits(sigmoid(fp32(value)))),
    "exp": (Exp, around_zero, lambda value: _bits(exp(fp32(value)))),
    "gelu": (Gelu, around_zero, lambda value: _bits(gelu(fp32(value)))),
    "gelu_by_tanh": (lambda stages: Gelu(stages, "tanh"), around_zero, lambda value: _bits(gelu(fp32(value), "tanh"))),
    "tanh": (Tanh, around_zero, lambda value: _bits(tanh(fp32(value)))),
    "erf": (Erf, around_zero, lambda value: _bits(erf(fp32(value)))),
    "log": (Log, around_one, lambda value: _bits(log(fp32(value)))),
    "sin": (Sin, around_zero, lambda value: _bits(sin(fp32(value)))),
    "cos": (Cos, around_zero, lambda value: _bits(cos(fp32(value)))),
    "reciprocal": (Reciprocal, single, lambda value: _bits(divide(np.ones(len(value), np.float32), fp32(value)))),
    "rsqrt": (Rsqrt, single, lambda value: _bits(rsqrt(fp32(value)))),
    "sqrt": (Sqrt, single, lambda value: _bits(sqrt(fp32(value)))),
    "divide": (Divide, pairs, lambda first, second: _bits(divide(fp32(first), fp32(second)))),
    **{
        f"round_{name}": (
            lambda stages, name=name: Round(stages, name),
            around_integers,
            lambda value, rounded=rounded: _bits(rounded(fp32(value))),
        )
        for name, rounded in ROUNDINGS.items()
    },
    **{
        f"multiply_{first}_{second}_to_{out}".lower(): (
            lambda stages, formats=(first, second, out): IntegerMultiply(*formats, stages),
            integers(first, second),
            product(first, second, out),
        )
        for first, second, out in [
            (INT8, INT8, INT8), (INT8, INT8, INT32), (INT32, INT8, INT32), (INT32, INT32, INT8),
            (INT32, INT32, INT32), (UINT32, UINT32, UINT32),
        ]
    },
    **{
        f"from_{dtype}".lower(): (
            lambda stages, dtype=dtype: FromInteger(dtype, stages),
            integers(dtype),
            lambda value, dtype=dtype: numbers(value, dtype).astype(np.float32).view(np.uint32),
        )
        for dtype in (INT8, INT32, UINT32)
    },
    **{
        f"to_{dtype}".lower(): (
            lambda stages, dtype=dtype: ToInteger(dtype, stages),
            around_integers,
            lambda value, dtype=dtype: numerics.convert(value.view(np.float32), dtype).view(f"u{dtype.bits // 8}"),
        )
        for dtype in (INT8, INT32, UINT32)
    },
}  # fmt: skip


def _patterns(values: np.ndarray) -> np.ndarray:
    return values.view(f"u{values.itemsize}")


def _bits(values: np.ndarray) -> np.ndarray:
    return numerics.canonical(values).view(np.uint32)


def expected(leaf: Leaf, vectors: Mapping[str, np.ndarray]) -> np.ndarray:
    with numerics.quiet():
        return leaf[2](**vectors)


def vectors_of(leaf: Leaf, random: np.random.Generator, count: int) -> Vectors:
    with numerics.quiet():
        return leaf[1](random, count)


def disagreements(vectors: Mapping[str, np.ndarray], got: np.ndarray, wanted: np.ndarray) -> list[Any]:
    """The first vectors with a wrong result, as text."""
    bad = np.flatnonzero(got != wanted)[:5]
    return [[f"{name} {values[at]:08x}" for name, values in vectors.items()] + [f"{got[at]:08x}"] for at in bad]


def in_time(component: Parametric, vectors: Mapping[str, np.ndarray]) -> tuple[Vectors, int]:
    """``vectors`` by cycles, each operand when it is wanted and up to the last result, and cycles before the first."""
    depth = getattr(component, "depth", 0)
    behind = component.product_cycles if isinstance(component, MultiplyAccumulate) else 0
    waits = {"fresh": behind, "sum": behind}
    timed = {}
    for name, values in vectors.items():
        wait = waits.get(name, 0)
        timed[name] = np.pad(values, (wait, depth - wait))
    return timed, depth


def simulate(component: Parametric, vectors: Mapping[str, np.ndarray]) -> np.ndarray:
    """Results in Amaranth's simulator, a vector a cycle."""
    timed, depth = in_time(component, vectors)
    return np.array(played(component, timed)[depth:])


STAGES = range(1, MOST_STAGES + 1)
UNCUT = tuple(each for each in LEAVES if each.startswith(("to_bf16", "to_fp32", "same_", "narrow_", "widen_")))
STAGED = [
    (name, stages)
    for name, (make, _, _) in LEAVES.items()
    for stages in ([1] if name in UNCUT else STAGES)
    if stages == 1 or make(stages).key != make(stages - 1).key
]
"""Leaves, with all the numbers of stages that matter to them."""
STAGED_MOST = dict(sorted(STAGED))
"""The most of these for each."""


def some_stages(names: Container[str], fewest_and_most: bool) -> list[Any]:
    """Of every leaf the fewest stages, or the fewest and the most; slow are the others."""
    some = {(name, stages) for name in LEAVES for stages in (1, *[STAGED_MOST[name]] * fewest_and_most)}
    return [
        pytest.param(*each, marks=[] if each in some else [pytest.mark.slow]) for each in STAGED if each[0] in names
    ]


@pytest.mark.parametrize("name, stages", some_stages(LEAVES, True))
def test_leaf_is_the_definition(name: str, stages: int) -> None:
    """The registers of more stages are seen with fewer vectors: the function is the same."""
    leaf = LEAVES[name]
    vectors = vectors_of(leaf, np.random.default_rng(6), 1000 if stages == 1 else 400)
    component = leaf[0](stages)
    assert disagreements(vectors, simulate(component, vectors), expected(leaf, vectors)) == []


@pytest.mark.parametrize("name, stages", some_stages(("add", "multiply"), False))
def test_every_pair_of_corners(name: str, stages: int) -> None:
    """A sample of all pairs of extreme numbers, the same in every run."""
    leaf = LEAVES[name]
    corners = patterns.corners()
    first, second = (each.ravel()[::37] for each in np.meshgrid(corners, corners))
    vectors = {"first": first, "second": second}
    assert disagreements(vectors, simulate(leaf[0](stages), vectors), expected(leaf, vectors)) == []


BASIC = {"add", "multiply", *UNCUT, *(name for name in LEAVES if name.startswith(("from_", "to_")))}
"""FP32 addition and multiplication, and conversions."""


@pytest.mark.slow
@pytest.mark.parametrize("name, stages", [each for each in STAGED if each[0] != "accumulate"])
def test_millions_of_vectors_in_verilator(name: str, stages: int, tmp_path: Path) -> None:
    """Ten million for what all else is made of, in the most stages."""
    leaf = LEAVES[name]
    component = leaf[0](stages)
    program = Verilated(component, tmp_path)
    count = 10_000_000 if name in BASIC and stages == STAGED_MOST[name] else 1_000_000
    vectors = vectors_of(leaf, np.random.default_rng([7, stages]), count)
    timed, depth = in_time(component, vectors)
    got = program.run(timed)["result"][depth:, 0]
    assert disagreements(vectors, got, expected(leaf, vectors)) == []


@pytest.mark.slow  # `tests/hw/test_emit.py` lints what is made of them
def test_verilog_has_only_harmless_warnings(tmp_path: Path) -> None:
    said = lint(tmp_path, *(leaf[0](MOST_STAGES) for leaf in LEAVES.values()))
    assert kinds(said) <= HARMLESS, said
