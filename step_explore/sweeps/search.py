"""A search instead of a grid: points are chosen from what is known of others."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import Any

from step.errors import needing
from step_explore.sweeps.axis import Axis, Point
from step_explore.sweeps.front import costs, values
from step_explore.sweeps.row import BOUNDED, REFUSED, Row
from step_explore.sweeps.surrogate import Places, Surrogate

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
        with needing("a search", "sweeps"):
            import optuna
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna: Any = optuna
        self._axes, self._objectives = axes, objectives
        self._choices = {each.name: _choice(optuna, each) for each in axes}
        self._random = random.Random(seed)
        self._study = optuna.create_study(
            directions=["minimize"] * len(objectives), sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True)
        )
        numbers = not any(isinstance(value, str | bool) for each in axes for value in each.values)
        self._surrogate = Surrogate(axes, seed) if numbers and self.size <= SMALL else None
        self._open: dict[Places, Any] = {}
        self._known: dict[Places, Row | None] = {}

    @property
    def size(self) -> int:
        """The number of points."""
        return math.prod(len(each.values) for each in self._axes)

    @property
    def ran(self) -> int:
        """The number of points that are known, but for those that were refused, which cost nothing."""
        return sum(row is not None and row.status != REFUSED for row in self._known.values())

    def ask(self, count: int) -> list[Point]:
        """At most ``count`` points that are not known; fewer only where there are no more."""
        found = list[Point]()
        for _ in range(min(count, self.size - len(self._known))):
            places = self._next()
            self._known[places] = None
            found.append({axis.name: axis.values[place] for axis, place in zip(self._axes, places, strict=True)})
        return found

    def tell(self, rows: Iterable[Row]) -> None:
        """Take the rows of points that were asked for, or of others."""
        for row in rows:
            places = tuple(axis.values.index(row.point[axis.name]) for axis in self._axes)
            self._known[places] = row
            trial = self._open.pop(places, None)
            if trial is not None:
                self._finish(trial, row)
            elif self._surrogate is None and (found := self._costs(row)) is not None:
                params = dict(zip(self._choices, places, strict=True))
                trial = self._optuna.trial.create_trial(params=params, distributions=self._choices, values=found)
                self._study.add_trial(trial)

    def _next(self) -> Places:
        """A point that is not known."""
        if self._surrogate is not None:
            return self._surrogate.choose(self._expected())
        for _ in range(TRIES):
            trial = self._study.ask(self._choices)
            places = tuple(trial.params[name] for name in self._choices)
            if places not in self._known:
                self._open[places] = trial
                return places
            self._finish(trial, self._known[places])
        while (places := tuple(self._random.randrange(len(axis.values)) for axis in self._axes)) in self._known:
            pass
        self._study.enqueue_trial(dict(zip(self._choices, places, strict=True)))
        return self._next()

    def _expected(self) -> dict[Places, tuple[float, ...] | None]:
        """The costs of what is known; where there is no result, it is taken for the worst in all objectives."""
        found = {places: None if row is None else self._costs(row) for places, row in self._known.items()}
        there = [each for each in found.values() if each is not None]
        worst = tuple(map(max, zip(*there, strict=True))) if there else None
        failed = [places for places, row in self._known.items() if row is not None and found[places] is None]
        return {**found, **dict.fromkeys(failed, worst)}

    def _finish(self, trial: Any, row: Row | None) -> None:
        found = None if row is None else self._costs(row)
        state = None if found is not None else self._optuna.trial.TrialState.FAIL
        self._study.tell(trial, found, state=state)

    def _costs(self, row: Row) -> tuple[float, ...] | None:
        """The costs of ``row``; bounds are as good, as they are worse than another row."""
        return (values if row.status == BOUNDED else costs)(row, self._objectives)


def _choice(optuna: Any, axis: Axis) -> Any:
    """Choices of a value, by its place: numbers have an order that says something, texts have none."""
    places = range(len(axis.values))
    if any(isinstance(each, str | bool) for each in axis.values):
        return optuna.distributions.CategoricalDistribution(tuple(places))
    return optuna.distributions.IntDistribution(0, places[-1])
