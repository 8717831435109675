"""Element-wise functions: the right words exactly `latency` cycles behind a start, at the interval and with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streaming import Case

from hw.functions.vector import VectorDatapath
from step.functions.cast import Cast
from step.functions.elementwise import Add, Mul
from step.functions.silu import Silu
from step.language.dtypes import BF16, FP32
from step.language.function import Function
from step.language.types import Tile
from step.lowering.fabric import FabricConfig

GAPS = [[0], [0, 0, 3, 0, 1, 7]]

NARROW, WIDE = Tile(BF16, 3, 4), Tile(FP32, 3, 4)
VECTORS: list[tuple[Function, tuple[Tile, ...], bool]] = [
    (Add(), (NARROW, WIDE), False),
    (Add(BF16), (Tile(FP32, 3, 1), WIDE), False),
    (Add(), (NARROW,), True),
    (Mul(), (WIDE, WIDE), False),
    (Mul(), (NARROW, Tile(BF16, 1, 4)), False),
    (Mul(FP32), (Tile(BF16, 1, 4), Tile(BF16, 3, 1)), False),
    (Mul(BF16), (WIDE,), True),
    (Cast(BF16), (WIDE,), False),
    (Cast(FP32), (NARROW,), False),
    (Silu(), (NARROW,), False),
    (Silu(BF16), (WIDE,), False),
]


@pytest.mark.parametrize("link", [1, 4, 64])
@pytest.mark.parametrize("lanes", [1, 5, 100])
@pytest.mark.parametrize("function, inputs, reduce", VECTORS, ids=lambda each: str(each))
def test_vector(function: Function, inputs: tuple[Tile, ...], reduce: bool, lanes: int, link: int) -> None:
    case = Case(function, inputs, FabricConfig(vector_lanes=lanes, link_bytes=link), reduce=reduce)
    for gaps in GAPS:
        case.check(9, gaps)


@pytest.mark.parametrize("link", [1, 2, 4, 8, 64])
@pytest.mark.parametrize("lanes", [1, 2, 16])
def test_reductions_that_end_late_meet_the_next_one(lanes: int, link: int) -> None:
    """An end without an element may be followed by a new reduction in the next cycle, while the state still leaves."""
    case = Case(Add(), (Tile(BF16, 4, 4),), FabricConfig(vector_lanes=lanes, link_bytes=link, stages=2), reduce=True)
    case.check(24, [0])


@pytest.mark.parametrize(
    "function, inputs",
    [
        (Add(), (Tile(FP32, 4, 4), Tile(BF16, 4, 4))),
        (Add(), (Tile(FP32, 4, 4), Tile(BF16, 1, 4))),
        (Add(BF16), (Tile(BF16, 4, 4), Tile(FP32, 1, 4))),  # words of the second one come while its last are wanted
        (Add(), (Tile(FP32),)),  # an element begins as the lanes take the one before
    ],
)
def test_links_narrower_than_scalars(function: Function, inputs: tuple[Tile, ...]) -> None:
    for link in (1, 2):
        Case(function, inputs, FabricConfig(link_bytes=link, stages=1), reduce=len(inputs) == 1).check(9, [0])


def random_case(random: np.random.Generator) -> Case:
    """Any function, shapes, formats, lanes and link."""

    def one_of(*choices: Any) -> Any:
        return choices[random.integers(len(choices))]

    rows, cols = (int(each) for each in random.integers(1, 10, 2))
    formats = [one_of(BF16, FP32) for _ in range(3)]
    lanes, link = one_of(1, 2, 3, 4, 5, 8, 16, 100), one_of(1, 2, 4, 8, 16, 32, 64, 4096)
    fabric = FabricConfig(vector_lanes=lanes, link_bytes=link, stages=one_of(1, 4))
    function = one_of(Add, Mul, Cast, Silu)(formats[0])
    if isinstance(function, Cast | Silu):
        return Case(function, (Tile(formats[1], rows, cols),), fabric)
    if random.random() < 0.4:
        return Case(function, (Tile(formats[1], rows, cols),), fabric, reduce=True)
    shapes = [(rows, cols), one_of((rows, cols), (1, cols), (rows, 1), (1, 1))]
    if random.random() < 0.5:
        shapes.reverse()
    return Case(function, tuple(Tile(each, *shape) for each, shape in zip(formats[1:], shapes, strict=True)), fabric)


def test_random_vectors() -> None:
    random = np.random.default_rng(3)
    for seed in range(60):
        random_case(random).check(7, GAPS[seed % 2], seed)


def test_formulas_agree_for_many_vectors() -> None:
    random = np.random.default_rng(4)
    for _ in range(1000):
        case = random_case(random)
        assert (case.path.initiation_interval, case.path.latency, True) == case.formula(), str(case)


@pytest.mark.parametrize(
    "function, formats, lanes, link, interval, used, latency",
    [
        (Add(), (BF16, BF16), 16, 64, 16, 16, 15),  # two groups a word: through stores on both sides
        (Add(), (BF16, BF16), 32, 64, 8, 32, 5),  # groups are words: a pipeline
        (Add(), (BF16, BF16), 256, 64, 8, 32, 5),  # more lanes would wait for words
        (Add(), (FP32, FP32), 32, 64, 16, 16, 4),
        (Add(), (BF16, FP32), 32, 64, 16, 16, 5),  # the words of the first operand are two groups
        (Silu(), (BF16,), 32, 64, 8, 32, 10),
        (Add(), (BF16, BF16), 24, 64, 16, 16, 15),  # 24 lanes would cut words
    ],
)
def test_words_and_lanes_of_a_square(
    function: Function, formats: tuple[object, ...], lanes: int, link: int, interval: int, used: int, latency: int
) -> None:
    inputs = tuple(Tile(each, 16, 16) for each in formats)
    case = Case(function, inputs, FabricConfig(vector_lanes=lanes, link_bytes=link))
    assert isinstance(case.path, VectorDatapath)
    assert (case.path.initiation_interval, case.path.lanes, case.path.latency) == (interval, used, latency)
    case.check(3, [0])
