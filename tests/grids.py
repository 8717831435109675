"""Tests over a grid: by default so many of its points that all pairs of values meet, all points with ``-m slow``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
from allpairspy import AllPairs


def grid(**axes: Iterable[Any]) -> pytest.MarkDecorator:
    """A parameter of the test for each of ``axes``.

    Most defects depend on one value or on two that meet (Kuhn, Wallace and Gallo, "Software fault interactions", IEEE
    Transactions on Software Engineering 30(6), 2004), so points that add no pair are marked as slow.
    """
    values = [list(axis) for axis in axes.values()]
    ranges = [range(len(axis)) for axis in values]
    covering = {tuple(point) for point in AllPairs(ranges)}
    points = [
        pytest.param(
            *(axis[at] for axis, at in zip(values, point, strict=True)),
            marks=[] if point in covering else [pytest.mark.slow],
        )
        for point in product(*ranges)
    ]
    return pytest.mark.parametrize(list(axes), points, ids=str)
