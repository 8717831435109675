"""A search instead of a grid: points are chosen from what is known of others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from step_explore.sweeps.axis import Axis, Point
from step_explore.sweeps.front import costs, values
from step_explore.sweeps.row import BOUNDED, REFUSED, Row
from step_explore.sweeps.surrogate import Places, Surrogate


class Search:
    """Chooses points of ``axes`` with little of the ``objectives``, the same ones for the same ``seed`` and rows."""

    def __init__(self, axes: Sequence[Axis], objectives: Sequence[str], seed: int) -> None:
        self._axes, self._objectives, self._surrogate = axes, objectives, Surrogate(axes, seed)
        self._known: dict[Places, Row | None] = {}

    @property
    def ran(self) -> int:
        """The number of points that are known, but for those that were refused, which cost nothing."""
        return sum(row is not None and row.status != REFUSED for row in self._known.values())

    def ask(self, count: int) -> list[Point]:
        """At most ``count`` points that are not known; fewer only where there are no more."""
        found = list[Point]()
        points = math.prod(len(each.values) for each in self._axes)
        for _ in range(min(count, points - len(self._known))):
            places = self._surrogate.choose(self._expected())
            self._known[places] = None
            found.append({axis.name: axis.values[place] for axis, place in zip(self._axes, places, strict=True)})
        return found

    def tell(self, rows: Iterable[Row]) -> None:
        """Take the rows of points that were asked for, or of others."""
        for row in rows:
            self._known[tuple(axis.values.index(row.point[axis.name]) for axis in self._axes)] = row

    def _expected(self) -> dict[Places, tuple[float, ...] | None]:
        """The costs of what is known; where there is no result, it is taken for the worst in all objectives."""
        found = {places: None if row is None else self._costs(row) for places, row in self._known.items()}
        there = [each for each in found.values() if each is not None]
        worst = tuple(map(max, zip(*there, strict=True))) if there else None
        failed = [places for places, row in self._known.items() if row is not None and found[places] is None]
        return {**found, **dict.fromkeys(failed, worst)}

    def _costs(self, row: Row) -> tuple[float, ...] | None:
        """The costs of ``row``; bounds are as good, as they are worse than another row."""
        return (values if row.status == BOUNDED else costs)(row, self._objectives)
