"""Choices by Gaussian processes: volumes, no point twice, fronts that are found in few rows."""

from __future__ import annotations

import itertools

import pytest
from cases import cases

from step_explore.sweeps.axis import Axis
from step_explore.sweeps.front import undominated
from step_explore.sweeps.row import Row
from step_explore.sweeps.search import Search
from step_explore.sweeps.surrogate import Surrogate, hypervolume

AXES = [Axis("a", (1, 2, 4, 8, 16, 32)), Axis("b", (1, 2, 4, 8, 16))]


def cost(a: int, b: int) -> tuple[int, int]:
    """Wide is fast and large, and too wide is slow."""
    return 100_000 // min(a, 16) + 900 * a + 40 * b, 50 * a * b + 7 * b


def of_places(places: tuple[int, ...]) -> tuple[int, int]:
    """The costs at these places of the axes."""
    a, b = (int(axis.values[at]) for axis, at in zip(AXES, places, strict=True))
    return cost(a, b)


@cases(
    ([], (4,), 0), ([(1,), (3,)], (4,), 3), ([(1, 3), (2, 1), (2, 3)], (4, 4), 7), ([(5, 5)], (4, 4), 0),
    ([(1, 1, 1)], (2, 3, 4), 6), ([(0, 1, 1), (1, 0, 1)], (2, 2, 2), 3),
)  # fmt: skip
def test_the_volume_behind_a_front(costs: list[tuple[float, ...]], worst: tuple[float, ...], volume: float) -> None:
    assert hypervolume(costs, worst) == volume


def test_every_point_is_chosen_once() -> None:
    surrogate, known = Surrogate(AXES, 0), dict[tuple[int, ...], tuple[int, int] | None]()
    for number in range(30):
        places = surrogate.choose(known)
        assert places not in known
        known[places] = None if number % 7 == 3 else of_places(places)
    assert len(known) == 30


@pytest.mark.parametrize("seed", range(4))
def test_a_front_is_found_in_a_third_of_the_rows(seed: int) -> None:
    every = [of_places(places) for places in itertools.product(range(6), range(5))]
    search, found = Search(AXES, ("cycles", "lut_sites"), seed), list[tuple[int, int]]()
    while points := search.ask(min(2, 10 - len(found))):
        costs = [cost(int(each["a"]), int(each["b"])) for each in points]
        search.tell(
            Row(each, "finished", cycles, lut_sites=area) for each, (cycles, area) in zip(points, costs, strict=True)
        )
        found += costs
    worst = tuple(map(max, zip(*every, strict=True)))
    assert hypervolume(found, worst) >= 0.97 * hypervolume(undominated(every), worst)


def test_points_of_a_large_grid_with_texts() -> None:
    """Of 3 million points those are found that a text and small numbers make cheap."""
    axes = [Axis("kind", ("slow", "fast", "slower")), *(Axis(name, tuple(range(100))) for name in "abc")]
    search, found = Search(axes, ("cycles",), 0), list[int]()
    while points := search.ask(min(2, 40 - len(found))):
        costs = [10 + sum(int(each[name]) for name in "abc") + 300 * (each["kind"] != "fast") for each in points]
        search.tell(Row(each, "finished", cycles) for each, cycles in zip(points, costs, strict=True))
        found += costs
    assert min(found) < 40
