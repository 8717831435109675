"""Tests over a grid: by default some of its points, all points with ``-m slow``."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import product
from random import Random
from typing import Any

import pytest
from allpairspy import AllPairs


def grid(**axes: Iterable[Any]) -> pytest.MarkDecorator:
    """A parameter of the test for each of ``axes``.

    Most defects depend on one value or on two that meet (Kuhn, Wallace and Gallo, "Software fault interactions", IEEE
    Transactions on Software Engineering 30(6), 2004), so points that add no pair are marked as slow.
    """
    values = [list(axis) for axis in axes.values()]
    return _marked(axes, values, {tuple(point) for point in AllPairs([range(len(axis)) for axis in values])})


def samples(**axes: Iterable[Any]) -> pytest.MarkDecorator:
    """A parameter of the test for each of ``axes``: as many points as the longest has values, so each value is there.

    For tests of which others, on random points, see pairs.
    """
    values = [list(axis) for axis in axes.values()]
    most = max(map(len, values))
    columns = [[at % len(axis) for at in range(most)] for axis in values]
    for number, column in enumerate(columns):
        Random(number).shuffle(column)
    return _marked(axes, values, set(zip(*columns, strict=True)))


def _marked(names: Iterable[str], values: list[list[Any]], some: Collection[tuple[int, ...]]) -> pytest.MarkDecorator:
    """All points; slow are those not among ``some``."""
    points = [
        pytest.param(
            *(axis[at] for axis, at in zip(values, point, strict=True)),
            marks=[] if point in some else [pytest.mark.slow],
        )
        for point in product(*(range(len(axis)) for axis in values))
    ]
    return pytest.mark.parametrize(list(names), points, ids=_name)


def _name(value: Any) -> str:
    """The name of a value, the same in every process: that of a function, which else would be shown by its address."""
    return str(getattr(value, "__name__", value))
