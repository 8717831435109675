"""Every operator and function stands on every floor: language, RTL, timing, and scenarios that run on all of them."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import meaning
import pytest
from scenarios import SCENARIOS

import step.functions
import step.ops

ROOT = Path(step.__file__).parents[1]
OPERATORS = sorted(each.name for each in pkgutil.iter_modules(step.ops.__path__))
FAMILIES = sorted(each.name for each in pkgutil.iter_modules(step.functions.__path__))


def test_there_is_something_to_look_at() -> None:
    assert "partition" in OPERATORS and "matmul" in FAMILIES


@pytest.mark.parametrize("floor", ["hw", "sim_approx"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_is_on_every_floor(operator: str, floor: str) -> None:
    assert (ROOT / floor / "units" / f"{operator}.py").is_file()


@pytest.mark.parametrize("floor", ["hw", "sim_approx"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_function_is_on_every_floor(family: str, floor: str) -> None:
    assert (ROOT / floor / "functions" / f"{family}.py").is_file()


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_has_scenarios(operator: str) -> None:
    assert [each for each in SCENARIOS if each.operator == operator], f"tests/scenarios.py has none of {operator}"


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_is_told_on_nested_lists(operator: str) -> None:
    """A meaning of its own, which does not look at the one that all back ends are compared with."""
    path = Path(meaning.__file__).parent / f"{operator}.py"
    assert path.is_file(), f"tests/meaning has no {operator}.py with its meaning on nested lists"
    assert "process(" not in path.read_text(), "the oracle must not ask the operator's own process"


def test_scenarios_have_names_of_their_own() -> None:
    names = [each.name for each in SCENARIOS]
    assert len(set(names)) == len(names)
