"""Figs. 9, 12 and 13: bytes exactly, cycles within 1 % of what the plots show."""

from __future__ import annotations

import pytest

from experiments.published.points import FIGURES, Point
from sim_published.backend import run

POINTS = [*FIGURES["9"](), *(point for point in FIGURES["12"]() if point.cycles)]
QUICK = ("mixtral 64", "mixtral dynamic")


@pytest.mark.parametrize(
    "point",
    [pytest.param(each, id=each.name, marks=() if each.name in QUICK else pytest.mark.slow) for each in POINTS],
)
def test_a_point_is_that_of_the_paper(point: Point) -> None:
    graph, inputs = point.make()
    result = run(graph, inputs, profile=point.profile)
    assert result.cycles == pytest.approx(point.cycles, rel=0.01)
    silent = {name.partition(".")[0] for name, each in result.channels.items() if each.tokens <= 1}
    assert point.count is not None
    if point.bytes is not None:
        assert point.count(graph, silent) == point.bytes
