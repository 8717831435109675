"""The plan of the matrix product: what it promises holds cycle by cycle, and less would not do."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from random import Random

import pytest
from cases import cases
from product_model import wrong
from test_matmul_datapath import Case, any_case, fabric

from step.language.dtypes import BF16
from step.language.types import Tile
from step.lowering.plans.matmul_plan import MatmulPlan


def any_plan(random: Random) -> tuple[MatmulPlan, int]:
    """The plan of any product in a Map, and its rows."""
    while True:
        case = any_case(random, random.choice([4, 8, 12]))
        if not case.application.reduce:
            return replace(case.plan(), deep=random.choice([1, 8, 64])), case.rows


def starts(random: Random, plan: MatmulPlan, count: int) -> list[int]:
    """As early as products may come, and now and then later."""
    found = [random.randrange(20)]
    while len(found) < count:
        found.append(found[-1] + plan.initiation_interval + random.choice([0, 0, 0, 1, 3, 9]))
    return found


def changed(plan: MatmulPlan, **values: object) -> MatmulPlan:
    """``plan`` with other numbers than follow from it."""
    found = MatmulPlan(**{each.name: getattr(plan, each.name) for each in fields(plan)})
    found.__dict__.update({"begin": plan.begin, "results": plan.results} | values)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_no_scalar_is_read_too_early_or_overwritten(seed: int) -> None:
    random = Random(seed)
    for _ in range(25):
        plan, rows = any_plan(random)
        assert wrong(plan, starts(random, plan, 5), [rows] * 5) is None, plan


def goes_wrong(plan: MatmulPlan, rows: int) -> bool:
    """Whether a product that starts in one of the first cycles does."""
    return any(wrong(plan, [start], [rows]) is not None for start in range(1 + plan.arrangement.waits))


class Early(MatmulPlan):
    """Its result leaves a cycle earlier."""

    def latency_of(self, rows: int) -> int:
        return super().latency_of(rows) - 1


def test_nothing_waits_for_longer_than_it_must() -> None:
    """The lanes begin as early as they can work without a pause, and so do the words of the result."""
    random, found = Random(5), 0
    for _ in range(100):
        plan, rows = any_plan(random)
        if plan.begin > 1 and not any(plan.assembled):
            assert goes_wrong(changed(plan, begin=plan.begin - 1), rows), plan
            found += 1
        if plan.latency > plan.loads(rows) and not plan.shifts:
            early = Early(**{each.name: getattr(plan, each.name) for each in fields(plan)})
            early.__dict__.update(begin=plan.begin, results=plan.results)
            assert goes_wrong(early, rows), plan
            found += 1
    assert found > 60


def test_many_intervals_are_what_the_docs_say() -> None:
    """The table of cycles.md: of all ways to cut the result into blocks, the one with the fewest cycles."""
    random = Random(9)
    for _ in range(300):
        case = any_case(random, 12)
        found, element, application = case.plan(), case.application.result, case.application
        assert isinstance(element, Tile)
        terms = case.function.terms or 1
        bits, lanes = 8 * case.fabric.link_bytes, max(1, case.fabric.matmul_lanes // terms)
        inputs = [each for each in application.inputs if isinstance(each, Tile)]
        steps, cols = math.ceil(int(inputs[0].cols) / terms), int(element.cols)
        w, v = max(math.ceil(each.bits / bits) for each in inputs), math.ceil(element.bits / bits)
        s = case.fabric.stages if inputs[0].dtype is BF16 else 1
        links = max(w, 1 if application.reduce else v)
        product = min(s, 2) if terms == 1 else 2 * s + 2
        shared = not application.reduce and steps > 1
        best = min(
            (max(links, steps * blocks, turn) if shared and blocks < s else max(links, steps * turn))
            for down in range(1, case.rows + 1)
            for across in range(1, cols + 1)
            if down * across <= lanes
            for blocks in [math.ceil(case.rows / down) * math.ceil(cols / across)]
            for turn in [math.ceil(s / blocks) * blocks if shared and blocks < s else max(blocks, s)]
        )
        assert found.initiation_interval == best, case
        shape = found.arrangement
        (turn, *_), blocks = shape.turns(case.rows) if shape.blocks <= s else (shape.blocks,), shape.blocks
        rounds = element.dtype is BF16
        last = found.begin + steps * turn - (turn - blocks) + shape.waits + product + s + rounds
        assert max(w, last - v) <= found.latency <= max(w, last), case


@cases((16, (1,) * 64, 1), (64, (4,) * 16, 4), (256, (4,) * 4, 28), (1024, (4,), 124))
def test_a_large_product_begins_with_its_first_rows(lanes: int, heights: tuple[int, ...], begin: int) -> None:
    """Of 128 words of each operand, those of the first group of rows: as many blocks as an addition has stages.

    A block has 1, 1, 4 or 16 rows; each row is two words.
    """
    plan = Case(64, 64, 64, "map", fabric(lanes, 64)).plan()
    assert plan.arrangement.heights(64) == heights and plan.begin == begin
