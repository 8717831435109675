"""A search instead of a grid: points are chosen from what is known of others."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import Any

from step.errors import missing_module
from step_explore.sweeps.axis import Axis, Point
from step_explore.sweeps.front import costs, values
from step_explore.sweeps.row import BOUNDED, REFUSED, Row
from step_explore.sweeps.surrogate import Surrogate

SMALL = 2048
"""Points of which all are looked at for every choice."""

TRIES = 20
"""Times that Optuna may choose what is known already, before a point is drawn."""


class Search:
    """Chooses points of ``axes`` with little of the ``objectives``, the same ones for the same ``seed`` and rows.

    Those of a small grid of numbers a `Surrogate` chooses, all others Optuna. Raises `EnvironmentProblem` where Optuna
    is not installed.
    """

    def __init__(self, axes: Sequence[Axis], objectives: Sequence[str], seed: int) -> None:
        try:
            import optuna
        except ModuleNotFoundError as error:
            raise missing_module(error, "a search", "sweeps") from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna: Any = optuna
        self._axes, self._objectives = {each.name: each for each in axes}, objectives
        self._choices = {each.name: _choice(optuna, each) for each in axes}
        self._random = random.Random(seed)
        self._study = optuna.create_study(
            directions=["minimize"] * len(objectives),
            sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True),
        )
        numbers = not any(isinstance(value, str | bool) for each in axes for value in each.values)
        self._surrogate = Surrogate(axes, seed) if numbers and self.size <= SMALL else None
        self._open: dict[tuple[Any, ...], Any] = {}
        self._known: dict[tuple[Any, ...], Row | None] = {}

    @property
    def size(self) -> int:
        """How many points there are."""
        return math.prod(len(each.values) for each in self._axes.values())

    @property
    def told(self) -> int:
        """How many points are known, but for those that were refused, which cost nothing."""
        return sum(row is not None and row.status != REFUSED for row in self._known.values())

    def ask(self, count: int) -> list[Point]:
        """At most ``count`` points that are not known; fewer only where there are no more."""
        count = max(0, min(count, self.size - len(self._known)))
        return [self._next() for _ in range(count)]

    def tell(self, rows: Iterable[Row]) -> None:
        """Take the rows of points that were asked for, or of others."""
        for row in rows:
            key = self._key(row.point)
            self._known[key] = row
            trial = self._open.pop(key, None)
            if trial is not None:
                self._finish(trial, row)
            elif self._surrogate is None and (found := self._costs(row)) is not None:
                places = {name: axis.values.index(row.point[name]) for name, axis in self._axes.items()}
                self._study.add_trial(
                    self._optuna.trial.create_trial(params=places, distributions=self._choices, values=found)
                )

    def _next(self) -> Point:
        if self._surrogate is not None:
            return self._expected(self._surrogate)
        for _ in range(TRIES):
            trial = self._study.ask(self._choices)
            point = {name: axis.values[trial.params[name]] for name, axis in self._axes.items()}
            key = self._key(point)
            if key not in self._known:
                self._known[key] = None
                self._open[key] = trial
                return point
            self._finish(trial, self._known[key])
        places = self._drawn()
        self._study.enqueue_trial(places)
        return self._next()

    def _expected(self, surrogate: Surrogate) -> Point:
        """What the ``surrogate`` chooses; where there is no result, it is taken for the worst in all objectives."""
        costs_of = {key: None if row is None else self._costs(row) for key, row in self._known.items()}
        there = [each for each in costs_of.values() if each is not None]
        failed = tuple(map(max, zip(*there, strict=True))) if there else None
        known = {
            tuple(axis.values.index(value) for axis, value in zip(self._axes.values(), key, strict=True)): (
                failed if cost is None and self._known[key] is not None else cost
            )
            for key, cost in costs_of.items()
        }
        places = zip(self._axes.items(), surrogate.choose(known), strict=True)
        point = {name: axis.values[place] for (name, axis), place in places}
        self._known[self._key(point)] = None
        return point

    def _drawn(self) -> dict[str, int]:
        while True:
            places = {name: self._random.randrange(len(axis.values)) for name, axis in self._axes.items()}
            if tuple(self._axes[name].values[place] for name, place in places.items()) not in self._known:
                return places

    def _finish(self, trial: Any, row: Row | None) -> None:
        found = None if row is None else self._costs(row)
        if found is None:
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial, found)

    def _costs(self, row: Row) -> tuple[float, ...] | None:
        """Those of ``row``; bounds are as good, as they are worse than another row."""
        return (values if row.status == BOUNDED else costs)(row, self._objectives)

    def _key(self, point: Point) -> tuple[Any, ...]:
        return tuple(point[name] for name in self._axes)


def _choice(optuna: Any, axis: Axis) -> Any:
    """Which value, by its place: numbers have an order that says something, texts have none."""
    places = range(len(axis.values))
    if any(isinstance(each, str | bool) for each in axis.values):
        return optuna.distributions.CategoricalDistribution(tuple(places))
    return optuna.distributions.IntDistribution(0, places[-1])
