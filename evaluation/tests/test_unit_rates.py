"""Units take a word of their links a cycle, but for those whose function needs longer; RTL has the same cycles."""

from __future__ import annotations

import pytest

from benchmarks.unit_rates import Rate, build, modelled
from step.language.function import FUNCTIONS
from step.language.operator import OPERATORS
from step_check.fuzz.units import EACH

LONGER = ("map_matmul", "map_top_k", "map_keep_top_k", "map_target_indices", "accum_", "scan_", "until")
"""Products, a scalar or an index after the other, states that are wanted back, selectors behind a value; the formulas
say how long."""

AS_FAST_AS_LINKS = ("accum_retile_row", "accum_retile_col")
"""Of these, with values of four words."""


@pytest.fixture(scope="module", params=[1, 4], ids=lambda rows: f"{rows} rows")
def rates(request: pytest.FixtureRequest) -> list[Rate]:
    return modelled(build(request.param, 120))


def test_every_unit_has_its_rate(rates: list[Rate]) -> None:
    for each in rates:
        if each.unit in ("bufferize", "streamify"):  # between two buffers there may be a cycle
            assert each.formula <= each.measured <= each.formula + 1 / EACH, each
        else:
            assert each.measured == each.formula, each


def test_nothing_else_takes_longer_than_its_words(rates: list[Rate]) -> None:
    for each in rates:
        free = not each.unit.startswith(LONGER) or (each.unit in AS_FAST_AS_LINKS and each.words >= 4)
        assert not free or each.formula == each.words, each


def test_every_operator_and_every_function_is_measured() -> None:
    units = build(1, 20).units
    assert {each.operator.name for each in units} == set(OPERATORS)
    functions = {each.function.name for each in units if each.function is not None}
    assert functions == {name for name, each in FUNCTIONS.items() if each.__module__.startswith("step.functions.")}
