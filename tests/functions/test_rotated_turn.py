"""The banks of the right operand of a fused product, against the moves that it stands for."""

from __future__ import annotations

from random import Random

import pytest
from test_matmul_datapath import Case, fabric

from hw.functions.matmul_datapath import MatmulDatapath
from hw.functions.rotated_turn import RotatedTurn

CASES = [
    (2, 16, 8, "map of 8 terms", fabric(16, 32)),  # two rows a word, and four pieces of each
    (2, 21, 8, "accum of 4 terms", fabric(8, 16)),  # a row a word; the last sum has one term
    (1, 20, 16, "map of 8 terms", fabric(16, 8)),  # a row is several words
    (3, 8, 4, "map of 4 terms", fabric(8, 16, stages=1)),  # as many pieces in a word as banks
    (1, 12, 32, "accum of 4 terms", fabric(16, 16)),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_products_with_it(number: int) -> None:
    rows, inner, cols, how, on = CASES[number]
    case = Case(rows, inner, cols, how, on)
    path = case.path()
    assert isinstance(path, MatmulDatapath) and RotatedTurn.fits(path.plan), path.plan.arrangement
    assert case.script(path, 6, Random(number), [0, 0, 2]).wrong() == []


def test_it_is_where_its_extents_are_powers_of_two() -> None:
    random, seen = Random(1), 0
    for _ in range(40):
        cols, how = random.choice([4, 8, 12, 16]), random.choice(["map of 4 terms", "accum of 4 terms"])
        on = fabric(random.choice([4, 8, 16]), random.choice([4, 8, 16, 32]), stages=random.randint(1, 4))
        case = Case(random.randint(1, 3), random.randint(1, 20), cols, how, on)
        path = case.path()
        assert isinstance(path, MatmulDatapath)
        if RotatedTurn.fits(path.plan) and seen < 5:
            seen += 1
            assert cols != 12
            assert case.script(path, 4, random, [0]).wrong() == [], case
    assert seen == 5
