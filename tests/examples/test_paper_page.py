"""The page of the paper's terms has every operator, and names methods and functions that there are."""

from __future__ import annotations

import re
from pathlib import Path

import step
from step import Graph, Stream, functions, library

PAGE = (Path(__file__).parents[2] / "docs" / "paper.md").read_text()
OPERATORS = PAGE.partition("## Operators\n")[2].partition("\n## ")[0]
FUNCTIONS = PAGE.partition("## Functions\n")[2].partition("\n## ")[0]
METHODS = {*dir(Stream), *dir(Graph)}
WORDS = {
    "linear_off_chip_load": "load",
    "linear_off_chip_store": "store",
    "random_off_chip_load": "load_random",
    "random_off_chip_store": "store_random",
}
"""What a user calls an operator, where that is not its name."""


def operators() -> set[str]:
    """What all operators are called."""
    names = {path.stem for path in (Path(__file__).parents[2] / "step" / "ops").glob("[a-z]*.py")}
    return {WORDS.get(name, name) for name in names}


def test_every_operator_is_there() -> None:
    missing = {name for name in operators() if not re.search(rf"\b{name}\b", OPERATORS)}
    assert len(operators()) > 20 and missing == set()


def test_methods_that_are_called_exist() -> None:
    called = set(re.findall(r"`(?:\w+\.)?(\w+)\(", OPERATORS))
    assert len(called) > 15 and called <= METHODS


def test_functions_that_are_named_exist() -> None:
    rows = re.findall(r"^\| [^|]+ \| (.+) \|$", FUNCTIONS, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([A-Z]\w+)", row)}
    assert len(named) > 12 and {name for name in named if not hasattr(functions, name)} == set()
    assert hasattr(library, "parallelize")


def test_metrics_that_are_named_exist() -> None:
    named = re.findall(r"metrics\(program\)\.(\w+)", PAGE)
    assert named and all(hasattr(step.metrics(Graph("empty")), name) for name in named)
