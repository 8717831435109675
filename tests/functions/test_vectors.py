"""Element-wise functions: the right words exactly `latency` cycles behind a start, at the interval and with gaps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from cases import cases
from grids import samples
from scripted import GAPS
from streaming import Case

from hw.functions.vector import VectorDatapath
from step.functions.cast import Cast
from step.functions.compare import RELATIONS, Compare, Where
from step.functions.dequantize import Dequantize
from step.functions.elementwise import Abs, Add, Clamp, Max, Min, Mul, MulAdd, Relu, Scale, Sub
from step.functions.exp import Exp
from step.functions.gelu import Gelu
from step.functions.log import Log
from step.functions.reciprocal import Div, Reciprocal
from step.functions.rounding import ROUNDINGS, Round
from step.functions.rsqrt import Rsqrt, Sqrt
from step.functions.silu import Sigmoid, Silu
from step.functions.sine import Cos, Sin
from step.functions.tanh import Erf, Tanh
from step.functions.threefry import Threefry
from step.language.dtypes import (
    BF16,
    BOOL,
    DTYPES,
    FLOATS,
    FP8_E4M3,
    FP8_E5M2,
    FP16,
    FP32,
    INT8,
    INT32,
    INTEGERS,
    UINT32,
    DType,
)
from step.language.function import Function
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.plans.vector import VectorPlan

NARROW, WIDE = Tile(BF16, 3, 4), Tile(FP32, 3, 4)
VECTORS: list[tuple[Function, tuple[Tile, ...], bool]] = [
    (Add(), (NARROW, WIDE), False), (Add(BF16), (Tile(FP32, 3, 1), WIDE), False), (Add(), (NARROW,), True),
    (Mul(), (WIDE, WIDE), False), (Mul(), (NARROW, Tile(BF16, 1, 4)), False),
    (Mul(FP32), (Tile(BF16, 1, 4), Tile(BF16, 3, 1)), False), (Mul(BF16), (WIDE,), True),
    (Cast(BF16), (WIDE,), False), (Cast(FP32), (NARROW,), False), (Silu(), (NARROW,), False),
    (Silu(BF16), (WIDE,), False), (Sub(), (Tile(BF16, 1, 4), NARROW), False),
    (Max(), (WIDE, Tile(BF16, 3, 1)), False), (Min(INT8), (Tile(INT8, 3, 4),), True),
    (MulAdd(), (WIDE, Tile(BF16, 3, 1), NARROW), False), (MulAdd(), (Tile(FP32, 3, 1), NARROW), True),
    (MulAdd(), (Tile(INT32, 3, 4), Tile(INT32, 1, 4)), True), (Add(), (Tile(INT8, 3, 4),), True),
    (Mul(), (Tile(UINT32, 3, 4), Tile(UINT32, 3, 1)), False), (Scale(-0.1), (NARROW,), False),
    (Threefry(), (Tile(UINT32, 3, 1), Tile(UINT32, 3, 4)), False), (Scale(-3), (Tile(INT32, 3, 4),), False),
    (Compare("<="), (WIDE, Tile(BF16, 3, 1)), False), (Compare("!="), (Tile(BOOL, 3, 4), Tile(BOOL, 1, 4)), False),
    (Where(), (Tile(BOOL, 3, 1), NARROW, Tile(BF16, 1, 4)), False), (Cast(BF16), (Tile(INT32, 3, 4),), False),
    (Cast(INT8), (WIDE,), False), (Cast(FP8_E4M3, saturate=True), (WIDE,), False),
    (Cast(FP8_E5M2), (Tile(INT32, 3, 4),), False), (Cast(BF16), (Tile(FP16, 3, 4),), False),
    (Cast(INT8), (Tile(FP8_E4M3, 3, 4),), False),
    (Where(), (Tile(BOOL, 3, 1), Tile(FP8_E5M2, 3, 4), Tile(FP8_E5M2, 1, 4)), False),
    (Dequantize(), (Tile(INT8, 3, 4), Tile(BF16, 3, 1)), False),
    (Dequantize(out=FP32), (Tile(INT8, 3, 8), Tile(FP32, 3, 2)), False),
    (Dequantize(4), (Tile(INT8, 2, 6), Tile(BF16, 2, 3)), False),
    (Dequantize(4, FP32), (Tile(INT8, 5, 4), Tile(FP32, 1, 4)), False),
    (Dequantize(), (Tile(INT32, 3, 4), Tile(BF16, 1, 4)), False),
    (Dequantize(out=FP32), (Tile(INT32, 3, 4), Tile(FP32, 3, 2)), False), (Exp(FP32), (NARROW,), False),
    (Gelu(), (NARROW,), False), (Gelu(approximate="tanh"), (WIDE,), False), (Tanh(), (NARROW,), False),
    (Tanh(BF16), (WIDE,), False), (Reciprocal(), (WIDE,), False), (Rsqrt(BF16), (WIDE,), False),
    (Div(), (WIDE, Tile(BF16, 3, 1)), False), (Relu(), (NARROW,), False), (Relu(), (Tile(INT8, 3, 4),), False),
    (Abs(), (WIDE,), False), (Abs(INT8), (Tile(INT32, 3, 4),), False), (Clamp(-1.5, 2), (WIDE,), False),
    (Clamp(0.0, -0.0), (NARROW,), False), (Clamp(-3, 100), (Tile(INT8, 3, 4),), False), (Sigmoid(), (NARROW,), False),
    (Sqrt(), (WIDE,), False), (Erf(), (NARROW,), False), (Log(), (WIDE,), False), (Sin(), (NARROW,), False),
    (Cos(BF16), (WIDE,), False), *[(Round(direction=each), (WIDE,), False) for each in ROUNDINGS],
]  # fmt: skip


@samples(vector=VECTORS, lanes=[1, 5, 100], link=[1, 4, 64], gaps=GAPS, stages=[4, 5, 7, 8])
def test_vector(
    vector: tuple[Function, tuple[Tile, ...], bool], lanes: int, link: int, gaps: list[int], stages: int
) -> None:
    function, inputs, reduce = vector
    fabric = FabricConfig(vector_lanes=lanes, link_bytes=link, stages=stages)
    Case(function, inputs, fabric, reduce=reduce).check(9, gaps)


@samples(lanes=[1, 2, 16], link=[1, 2, 4, 8, 64])
def test_reductions_that_end_late_meet_the_next_one(lanes: int, link: int) -> None:
    """An end without an element may be followed by a new reduction in the next cycle, while the state still leaves."""
    case = Case(Add(), (Tile(BF16, 4, 4),), FabricConfig(vector_lanes=lanes, link_bytes=link, stages=2), reduce=True)
    case.check(24, [0])


@cases(
    (Add(), (Tile(FP32, 4, 4), Tile(BF16, 4, 4))),
    (Add(), (Tile(FP32, 4, 4), Tile(BF16, 1, 4))),
    (Add(BF16), (Tile(BF16, 4, 4), Tile(FP32, 1, 4))),  # words of the second one come while its last are wanted
    (Add(), (Tile(FP32),)),  # an element begins as the lanes take the one before,
)
def test_links_narrower_than_scalars(function: Function, inputs: tuple[Tile, ...]) -> None:
    for link in (1, 2):
        Case(function, inputs, FabricConfig(link_bytes=link, stages=1), reduce=len(inputs) == 1).check(9, [0])


FORMATS = [*DTYPES.values()]
UNARY = Silu, Gelu, Exp, Reciprocal, Rsqrt, Tanh, Relu, Abs, Sigmoid, Sqrt, Erf, Log, Sin, Cos, Round


def one_of(random: np.random.Generator, *choices: Any) -> Any:
    return choices[random.integers(len(choices))]


def random_function(random: np.random.Generator, dtype: DType) -> tuple[Any, list[DType], bool]:
    """A function, the formats of its operands, and whether it reduces; of ``dtype`` and its like."""
    other: DType = one_of(random, *FLOATS) if dtype.is_float else dtype
    kind = random.random()
    if kind < 0.15 or (dtype.is_stored and kind < 0.7):
        out = one_of(random, *FORMATS)
        return Cast(out, saturate=out.is_stored and random.random() < 0.5), [dtype], False
    if kind < 0.3 or dtype.is_stored:
        if random.random() < 0.4 or dtype.is_stored:
            return Where(), [BOOL, dtype, dtype], False
        return Compare(one_of(random, *RELATIONS)), [dtype, other if dtype.is_float else dtype], False
    if dtype.is_float:
        out = one_of(random, None, *FLOATS)
        if kind < 0.5:
            return one_of(random, *UNARY)(out), [dtype], False
        if kind < 0.6:
            return Scale(float(random.standard_normal()), out), [dtype], False
    else:
        dtype = other = INT8 if dtype is BOOL else dtype
        out = one_of(random, None, *INTEGERS)
        if kind < 0.5:
            return Scale(int(random.integers(0, 128)), out), [dtype], False
    function = one_of(random, Add, Sub, Mul, Max, Min, MulAdd, *[Div] * dtype.is_float)(out)
    if isinstance(function, Sub | Div) or random.random() < 0.6:
        return function, [dtype, *[other, dtype][: function.operands - 1]], False
    return function, [dtype, other][: function.operands - 1], True


def random_case(random: np.random.Generator) -> Case:
    """Any function, shapes, formats, lanes and link."""
    rows, cols = (int(each) for each in random.integers(1, 10, 2))
    lanes, link = one_of(random, 1, 2, 3, 4, 5, 8, 16, 100), one_of(random, 1, 2, 4, 8, 16, 32, 64, 4096)
    fabric = FabricConfig(vector_lanes=lanes, link_bytes=link, stages=one_of(random, 1, 2, 3, 4, 5))
    function, dtypes, reduce = random_function(random, one_of(random, *FORMATS, *FLOATS))
    shapes = [one_of(random, (rows, cols), (1, cols), (rows, 1), (1, 1)) for _ in dtypes]
    shapes[random.integers(len(shapes))] = rows, cols
    return Case(
        function, tuple(Tile(each, *shape) for each, shape in zip(dtypes, shapes, strict=True)), fabric, reduce=reduce
    )


@pytest.mark.parametrize("count", [25, pytest.param(100, marks=pytest.mark.slow)])
def test_random_vectors(count: int) -> None:
    random = np.random.default_rng(3)
    for seed in range(count):
        random_case(random).check(7, GAPS[seed % 2], seed)


def test_many_plans_are_what_the_docs_say() -> None:
    """The table of cycles.md, on links that are no narrower than a scalar."""
    random = np.random.default_rng(4)
    for _ in range(1000):
        case = random_case(random)
        plan, most = case.plan, case.application.fabric.vector_lanes
        assert isinstance(plan, VectorPlan)
        ports, n, v = (*plan.operands, plan.result), plan.result.scalars, plan.result.words
        if any(each.link_bits < each.dtype.bits for each in ports):
            continue
        of_words = [each.link_bits // each.dtype.bits for each in ports if each.words > 1]
        possible = [each for each in range(1, min(most, n) + 1) if all(word % each == 0 for word in of_words)]
        c, words = plan.lane.cycles, [each.words for each in ports]
        interval = max(*words, math.ceil(n / max(possible)), c if plan.reduce else 1)
        groups = math.ceil(n / min(each for each in possible if math.ceil(n / each) <= interval))
        alike = [each.words == groups and (groups == 1 or each.scalars == n) for each in plan.operands]
        g = 0 if all(alike) else 1
        h = 0 if groups == v and not plan.reduce else 1 + groups - v
        assert (plan.initiation_interval, plan.latency) == (interval, g + c + h), plan


@cases(
    (Add(), (BF16, BF16), 16, 64, 16, 16, 15),  # two groups a word: through stores on both sides
    (Add(), (BF16, BF16), 32, 64, 8, 32, 5),  # groups are words: a pipeline
    (Add(), (BF16, BF16), 256, 64, 8, 32, 5),  # more lanes would wait for words
    (Add(), (FP32, FP32), 32, 64, 16, 16, 4),
    (Add(), (BF16, FP32), 32, 64, 16, 16, 5),  # the words of the first operand are two groups
    (Silu(), (BF16,), 32, 64, 8, 32, 10),
    (Add(), (BF16, BF16), 24, 64, 16, 16, 15),  # 24 lanes would cut words,
)
def test_words_and_lanes_of_a_square(
    function: Function, formats: tuple[object, ...], lanes: int, link: int, interval: int, used: int, latency: int
) -> None:
    inputs = tuple(Tile(each, 16, 16) for each in formats)
    case = Case(function, inputs, FabricConfig(vector_lanes=lanes, link_bytes=link))
    assert isinstance(case.path, VectorDatapath)
    assert (case.path.initiation_interval, case.path.lanes, case.path.latency) == (interval, used, latency)
    if used == 16:  # wider ones take the same ways, and long to simulate
        case.check(3, [0])
