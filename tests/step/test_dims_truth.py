"""The truth of a dimension is that of its extent, as far as it is known before a run."""

from __future__ import annotations

import pytest

from step import Graph
from step.errors import TypeMismatch
from step.language.dims import dim


def test_known_extents() -> None:
    symbol = Graph("g").symbol("N")
    assert dim(3) and not dim(0) and symbol + 1


def test_an_extent_that_a_run_decides() -> None:
    symbol = Graph("g").symbol("N")
    for ask in (bool, lambda each: each or 4, lambda each: not each):
        with pytest.raises(
            TypeMismatch, match="whether N is 0 is known in a run only, so a program can not depend on it"
        ):
            ask(symbol)
