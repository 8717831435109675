"""Random programs: interpreter = fast model = oracle, and RTL = fast model in the cycle of every token.

A seed that fails is in the message, with the command that runs it again.
"""

from __future__ import annotations

from collections import Counter

import pytest
from random_programs.check import check, check_meaning
from random_programs.program import LEAST
from random_programs.together import check_rtl

from step.language.operator import OPERATORS

PER_TEST = 25


def block(first: int, count: int) -> Counter[str]:
    """Check ``count`` seeds; returns how often each operator was among them."""
    found: Counter[str] = Counter()
    for seed in range(first, first + count):
        agreement = check(seed)
        assert agreement.tokens and len(agreement.operators) >= LEAST
        found.update(agreement.operators)
    return found


@pytest.mark.parametrize("number", range(12))
def test_programs(number: int) -> None:
    found = block(number * PER_TEST, PER_TEST)
    if number == 0:
        # Every operator there is: a new one gets a step of its own in `random_programs.steps`.
        assert set(found) == set(OPERATORS), set(OPERATORS) - set(found)


def test_programs_with_tiles_of_dynamic_size() -> None:
    for seed in range(50):
        check_meaning(seed)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(50))
def test_many_programs(number: int) -> None:
    block(10_000 + number * 100, 100)


@pytest.mark.slow
def test_many_programs_with_tiles_of_dynamic_size() -> None:
    for seed in range(10_000, 11_000):
        check_meaning(seed)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_programs_in_rtl(number: int) -> None:
    agreement = check_rtl(range(20_000 + number * 22, 20_000 + (number + 1) * 22))
    assert len(agreement.seeds) >= 20
