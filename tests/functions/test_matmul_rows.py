"""The matrix product with a dynamic number of rows: the right bits, word by word, when they are told to leave."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import patterns
import pytest
from scripted import Script
from test_matmul_datapath import HOWS, Case, fabric

from hw.functions.matmul_datapath import MatmulDatapath
from step.language.types import Tile
from step.lowering.plans.matmul import plan
from step.lowering.plans.matmul_plan import MatmulPlan


def dynamic(case: Case, **changes: int) -> MatmulDatapath:
    """Of products with as many rows as ``case``, or fewer."""
    application = replace(case.application, fewer=frozenset({0, -1}))
    found = plan(case.function, application)
    assert found.fewer
    return MatmulDatapath(replace(found, **changes))


class Play:
    """What goes into ``path``, as soon as it may or up to ``gap`` cycles later, and what has to leave it."""

    def __init__(self, case: Case, path: MatmulDatapath, random: Random, gap: int) -> None:
        self.case, self.path, self.random, self.gap = case, path, random, gap
        self.script, self.values = Script(path), np.random.default_rng(random.randrange(1 << 30))
        self.at = self.out = 0

    def start(self, rows: int, **ports: bool) -> list[np.ndarray]:
        """A product of so many ``rows`` starts; returns its operands."""
        left, right = self.case.application.inputs
        assert isinstance(left, Tile) and isinstance(right, Tile)
        self.script.give(self.at, start=1, rows=rows, **ports)
        operands = []
        for port, element in enumerate((Tile(left.dtype, rows, left.cols), right)):
            operands.append(patterns.tile(self.values, element))
            self.script.operand(port, self.at, operands[port], element, self.case.fabric.link_bytes)
        return operands

    def leaves(self, result: np.ndarray) -> None:
        """It leaves, or the state, when its latency is over and what left before is out."""
        element, link = self.case.application.result, self.case.fabric.link_bytes
        assert isinstance(element, Tile)
        cycle = max(self.at + self.path.plan.latency_of(len(result)), self.out)
        self.script.give(cycle - 1, leave=1)
        self.script.result(cycle - self.path.latency, result, Tile(element.dtype, *result.shape), link)
        self.out = cycle + self.path.plan.result.words_at(len(result))

    def goes_on(self, rows: int) -> None:
        """Until the next one may start."""
        self.at += self.path.plan.interval_of(rows) + self.random.randint(0, self.gap)

    def products(self, count: int) -> None:
        for _ in range(count):
            rows = self._rows()
            self.leaves(self.case.function.apply(*self.start(rows)))
            self.goes_on(rows)

    def reductions(self, count: int) -> None:
        """Of elements with as many rows each; some states leave with the last one, some later."""
        result = self.case.application.result
        assert isinstance(result, Tile)
        for _ in range(count):
            rows, late, elements = self._rows(), self.random.random() < 0.5, self.random.randint(1, 3)
            state = np.zeros((rows, result.shape[1]), result.dtype.numpy)
            for number in range(elements):
                emits = number == elements - 1 and not late
                state = self.case.function.update(state, *self.start(rows, first=number == 0, emit=emits))
                if emits:
                    self.leaves(state)
                self.goes_on(rows)
            if late:
                self.script.give(self.at, emit=1)
                self.leaves(state)
                self.goes_on(rows)

    def _rows(self) -> int:
        return self.random.choice([1, self.case.rows, self.random.randint(1, self.case.rows)])


def check(case: Case, random: Random, gap: int, **changes: int) -> MatmulPlan:
    play = Play(case, dynamic(case, **changes), random, gap)
    (play.reductions if case.application.reduce else play.products)(8)
    assert play.script.wrong() == [], (case, changes)
    return play.path.plan


SHAPES = [
    (1, 3, 5, fabric(4, 8, stages=4)),
    (4, 4, 4, fabric(64, 64, stages=4)),  # one block
    (4, 3, 2, fabric(4, 64, stages=4)),  # turns wait for their sums
    (9, 3, 2, fabric(4, 16, stages=2)),  # groups of several rows of blocks
    (12, 2, 3, fabric(3, 8, stages=2)),  # a block for every row
    (7, 5, 6, fabric(8, 2, stages=4)),  # long on its way
    (40, 2, 4, fabric(1, 64, stages=4)),  # sums in block RAM, and turns as long as a sum
    (6, 11, 3, fabric(8, 16, stages=3)),  # several steps of fused terms
]


PRODUCTS = (
    *("map", "map transposed to bf16", "accum", "accum transposed"),
    *("map of int8", "map of 4 terms", "accum of 4 terms"),
)


@pytest.mark.parametrize(
    ("shape", "how"),
    [
        pytest.param(shape, how, marks=[] if (shape + number) % 6 == 0 else [pytest.mark.slow])
        for shape in range(len(SHAPES))
        for number, how in enumerate(PRODUCTS)
    ],
)
def test_products_of_any_rows(shape: int, how: str) -> None:
    """By default each shape in one or two of the products, and each of these in as many shapes."""
    rows, inner, cols, on = SHAPES[shape]
    check(Case(rows, inner, cols, how, on), Random(shape), shape % 2)


@pytest.mark.parametrize("seed", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in range(1, 40))])
def test_any_products(seed: int) -> None:
    """Also with memories in block RAM, from which words come a cycle later."""
    random = Random(seed)
    for _ in range(3):
        rows, inner, cols = random.choice([4, 9, 16]), random.choice([1, 2, 3, 4, 5, 6, 10, 21]), random.randint(1, 9)
        lanes, link = random.choice([1, 2, 3, 4, 8, 50]), random.choice([2, 4, 8, 16, 64])
        case = Case(rows, inner, cols, random.choice(list(HOWS)), fabric(lanes, link, stages=random.randint(1, 4)))
        check(case, random, random.choice([0, 0, 3]), deep=random.choice([1, 4, 64]))
