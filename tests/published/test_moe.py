"""Figs. 9, 12 and 13: bytes exactly, cycles within 1 % of what the plots show."""

from __future__ import annotations

import pytest

from experiments.published.point import Point
from experiments.published.points import FIGURES
from experiments.published.rows import measured

POINTS = [*FIGURES["9"](), *(point for point in FIGURES["12"]() if point.cycles)]
QUICK = ("mixtral 64", "mixtral dynamic")


@pytest.mark.parametrize(
    "point",
    [pytest.param(each, id=each.name, marks=() if each.name in QUICK else pytest.mark.slow) for each in POINTS],
)
def test_a_point_is_that_of_the_paper(point: Point) -> None:
    row = measured(point, "any")
    assert int(row["cycles"]) == pytest.approx(point.cycles, rel=0.01)
    if point.bytes is not None:
        assert (int(row["off_chip_bytes"]), int(row["on_chip_bytes"])) == point.bytes
