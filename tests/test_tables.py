"""The tables of operators and functions in docs/ are those that the code gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from raising import raising
from tables import PAGES
from tables.operators import example

from step.language.operator import Operator
from step.ops import Map


@pytest.mark.parametrize("path", PAGES, ids=lambda each: f"{each.parent.name}/{each.name}")
def test_pages_are_those_of_the_code(path: Path) -> None:
    assert path.read_text() == PAGES[path](), "PYTHONPATH=tests python -m tables writes them"


def test_an_operator_shows_itself() -> None:
    class _Silent(Operator):
        """Nothing to see."""

    class _Other(Operator):
        """Something else.

        >>> graph = Graph("other")
        >>> x = graph.source("x", Tile(FP32), [3])
        >>> x.sink("y")
        """

        name = "other"

    with raising(LookupError, "the docstring of _Silent must end with an example of three lines, >>> each"):
        example(_Silent)
    with raising(LookupError, "the example of _Other does not use it"):
        example(_Other)
    assert len(example(Map).lines) == 3
