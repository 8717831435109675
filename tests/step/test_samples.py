"""Samples of operators and functions: each is there, fits something, and adds what it says."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from raising import raised

import step.ops.promote
from step.errors import RegistrationError
from step.functions.silu import Silu
from step.language.draft import Draft
from step.language.dtypes import BF16, STORED, DType
from step.language.function import FUNCTIONS, Sample
from step.language.graph import Graph
from step.language.operator import OPERATORS
from step.language.types import ElementType, Tile
from step_check.fuzz import program
from step_check.fuzz.step import steps
from step_check.fuzz.units import StandardUnit, units
from step_check.samples.draft import GrowingDraft
from step_check.samples.known import operators
from step_check.samples.plain import Plain


def test_every_operator_has_one() -> None:
    found = operators()
    assert {each.name for each in found} == set(OPERATORS) and all(each.weight > 0 for each in found)


def test_an_operator_without_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(step.ops.promote, "sample")
    assert raised(RegistrationError, operators) == (
        "the operator 'promote' has no sample: step.ops.promote needs a function sample(draft), which adds it to a "
        "step.language.draft.Draft once"
    )


def test_an_operator_that_is_never_added_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(draft: Draft) -> None:
        draft.pick()

    monkeypatch.setattr(step.ops.promote, "sample", nothing)
    error = raised(RegistrationError, lambda: list(units(1)))
    assert error == "the sample of the operator 'promote' never adds it to a program"


def test_a_function_that_fits_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def two(cls: type[Silu], random: Random, element: ElementType, *, reduce: bool) -> Sample:
        return Sample(cls(), (element, element))

    monkeypatch.setattr(Silu, "sample", classmethod(two))
    error = raised(RegistrationError, lambda: list(units(1)))
    assert error == "the sample of the function 'silu' fits no stream: step.functions.silu"


@pytest.mark.parametrize("rows", [1, 4])
def test_every_function_stands_alone_in_every_operator_that_applies_it(rows: int) -> None:
    found: list[StandardUnit] = list(units(rows))
    applied = {each.function.name for each in found if each.function is not None}
    assert applied == {name for name, each in FUNCTIONS.items() if each.__module__.startswith("step.functions.")}
    labels = [each.label for each in found]
    assert len(set(labels)) == len(labels)
    assert {"map_add", "accum_add", "scan_add"} < set(labels) and "scan_retile_row" not in labels  # its state grows


def test_plain_choices() -> None:
    random = Plain()
    assert random.choice("abc") == "a" and random.choices("ab", k=3) == ["a", "b", "a"]
    assert random.randint(2, 5) == 5 and random.randrange(4) == 3 and random.randrange(1, 8, 2) == 7
    assert random.sample(range(4), 2) == [0, 1] and not random.random() < 0.99
    some = [3, 1, 2]
    random.shuffle(some)
    assert some == [3, 1, 2]


def test_operands_that_have_to_be_in_range_are() -> None:
    random = Random(5)
    for _ in range(200):
        for each in FUNCTIONS.values():
            sample = each.sample(random, Tile(BF16, 2, 3), reduce=False)
            if sample is not None and each.indices:
                assert set(sample.function.indices) <= set(sample.values), each


@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_no_step_calculates_with_numbers_that_are_only_stored(dtype: DType) -> None:
    """Tiles of static size, and of dynamic rows."""
    grew = set()
    for seed in range(4):
        for each in set(steps()):
            draft = GrowingDraft(Random(seed), Graph("stored"))
            nested = [[np.ones((2, 1), dtype.numpy)] * 2] * 2
            for rows in (2, draft.graph.symbol("H", ragged=True)):
                draft.pool.append(draft.play("x", Tile(dtype, rows, 1), nested, [2, 2]))
            before = len(draft.graph.nodes)
            each(draft)
            if len(draft.graph.nodes) > before:
                grew.add(each.__name__)
    assert {"compute", "loop", "parallel", "route_and_gather"} < grew


@pytest.mark.parametrize("seed", [1074, 1175, 2101, 3036])
def test_programs_that_had_such_steps(seed: int) -> None:
    assert program.program(seed).graph.nodes
