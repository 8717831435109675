"""Figs. 14, 15 and 21: decode attention takes as many cycles as in the published simulator."""

from __future__ import annotations

import pytest

from experiments.published.batches import KNOWN
from experiments.published.point import PublishedPoint
from experiments.published.points import FIGURES
from sim_published.backend import run

POINTS = [point for figure in ("14", "15", "21") for point in FIGURES[figure]() if point.cycles]
FROM_ELSEWHERE = {f"{name} {arrangement}" for name in KNOWN for arrangement in ("coarse", "interleaved", "dynamic")}
"""Points whose totals are not those of a result file; see `experiments.published.recorded`."""


def is_slow(point: PublishedPoint) -> bool:
    return "dynamic" not in point.name if point.name in FROM_ELSEWHERE else "0479_" not in point.name


def cycles(point: PublishedPoint) -> int:
    graph, inputs = point.make()
    return run(graph, inputs, profile=point.profile).cycles


@pytest.mark.parametrize(
    "point", [pytest.param(each, id=each.name, marks=pytest.mark.slow if is_slow(each) else ()) for each in POINTS]
)
def test_cycles_are_the_published_ones(point: PublishedPoint) -> None:
    """A cycle less in a result file that counts the end of memory, too."""
    assert point.cycles is not None
    assert cycles(point) in ((point.cycles,) if point.name in FROM_ELSEWHERE else (point.cycles, point.cycles - 1))


def test_trace_4007_number_for_number() -> None:
    """The batch whose totals are published as such."""
    points = {point.name: point for point in POINTS}
    name = "conv_stdev0996_4007_4070"
    found = [cycles(points[f"{name} {each}"]) for each in ("coarse", "interleaved", "dynamic")]
    assert found == [70209, 64361, 49093]
