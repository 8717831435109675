"""Gaussian processes, one for each objective: costs that points of a grid may have, from those that are known."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from step_explore.sweeps.axis import Axis
from step_explore.sweeps.front import undominated

BEGINNING = 4
"""Points far from each other, before anything is expected."""

SCALES = (0.3, 0.6, 1.0, 2.0, 4.0)
"""In how much of an axis costs change, of which the likeliest is taken for each."""

NOISE = 1e-3

SMALL = 2048
"""Points of which all are looked at for every choice; of more so many are drawn."""

Places = tuple[int, ...]
"""A point, by the place of its value on each axis."""


class Surrogate:
    """Chooses points of ``axes``: first some that are far from each other, then that with the largest gain in
    hypervolume where costs are a standard deviation less than expected. Costs are of numbers above 0, so their
    logarithms are modelled; Rasmussen and Williams, Gaussian Processes for Machine Learning, chapters 2 and 5."""

    def __init__(self, axes: Sequence[Axis], seed: int) -> None:
        self._random, self._counts = random.Random(seed), [len(each.values) for each in axes]
        self._ordered = [not any(isinstance(value, str | bool) for value in each.values) for each in axes]

    def choose(self, known: Mapping[Places, Sequence[float] | None]) -> Places:
        """A point that is not in ``known``, which has the costs of others; None: not there yet, or there are none."""
        left, taken = self._candidates(known), sorted(known)
        ended = [places for places in taken if known[places] is not None]
        if not taken:
            return self._random.choice(left)
        near, there, ran = map(self._at, (left, taken, ended or taken))
        if len(taken) < BEGINNING or not ended:
            return left[int(np.abs(near[:, None] - there[None]).sum(-1).min(1).argmax())]
        costs = np.log1p(np.array([known[places] for places in ended], float))
        costs = (costs - costs.mean(0)) / (costs.std(0) + 1e-9)
        hopes, doubts = zip(*(_expected(ran, each, there, near) for each in costs.T), strict=True)
        return left[_best(costs, np.transpose(hopes) - np.transpose(doubts), np.max(doubts, 0))]

    def _candidates(self, known: Collection[Places]) -> list[Places]:
        """All points that are not ``known``, or `SMALL` of many, drawn at random."""
        found = list[Places]()
        while not found:
            points: Iterable[Places] = itertools.product(*map(range, self._counts))
            if math.prod(self._counts) > SMALL:
                points = (tuple(map(self._random.randrange, self._counts)) for _ in range(SMALL))
            found = [places for places in dict.fromkeys(points) if places not in known]
        return found

    def _at(self, points: Sequence[Places]) -> np.ndarray:
        """Coordinates of ``points``: the place on an axis of numbers, which have an order; else one for each value."""
        columns = zip(np.array(points).T, self._counts, self._ordered, strict=True)
        parts = (at[:, None] / max(1, count - 1) if ordered else np.eye(count)[at] for at, count, ordered in columns)
        return np.hstack(list(parts))


def _expected(ran: np.ndarray, costs: np.ndarray, taken: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of what is ``left``; those of ``taken`` will be known soon."""
    scales = _likeliest(ran, costs)
    mean = _kernel(left, ran, scales) @ np.linalg.solve(_own(ran, scales), costs)
    near = _kernel(left, taken, scales)
    rest = 1 - (near * np.linalg.solve(_own(taken, scales), near.T).T).sum(1)
    return mean, np.sqrt(np.maximum(rest, 1e-9))


def _kernel(left: np.ndarray, right: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Covariances of costs of points ``left`` and ``right``."""
    return np.asarray(np.exp(-(((left[:, None] - right[None]) / scales) ** 2).sum(-1) / 2))


def _own(at: np.ndarray, scales: np.ndarray) -> np.ndarray:
    return _kernel(at, at, scales) + NOISE * np.eye(len(at))


def _likeliest(at: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """The scales of all axes, looked for one after the other, twice."""

    def likelihood(scales: np.ndarray) -> float:
        own = _own(at, scales)
        return float(-costs @ np.linalg.solve(own, costs) - np.linalg.slogdet(own)[1])

    scales = np.ones(at.shape[1])
    for axis in [*range(len(scales))] * 2:
        tried = [np.where(np.arange(len(scales)) == axis, each, scales) for each in SCALES]
        scales = max(tried, key=likelihood)
    return scales


def _best(known: np.ndarray, hoped: np.ndarray, doubts: np.ndarray) -> int:
    """The point of those ``hoped`` for that adds most to the hypervolume; where none does, the least known one."""
    worst = known.max(0) + 0.1
    front = undominated(map(tuple, known.tolist()))
    gains = np.array([hypervolume([*front, tuple(each)], worst) for each in hoped.tolist()]) - hypervolume(front, worst)
    return int(gains.argmax() if gains.max() > 1e-12 else doubts.argmax())


def hypervolume(costs: Sequence[tuple[float, ...]], worst: Sequence[float]) -> float:
    """The volume of what is worse than one of ``costs``, and better than ``worst``, by slices of the last objective."""
    inside = undominated(each for each in costs if all(np.less(each, worst)))
    if len(worst) == 1:
        return float(worst[0]) - inside[0][0] if inside else 0.0
    inside.sort(key=lambda each: each[-1])
    ends = [*(each[-1] for each in inside[1:]), float(worst[-1])]
    return sum(
        hypervolume([each[:-1] for each in inside[: place + 1]], worst[:-1]) * (end - inside[place][-1])
        for place, end in enumerate(ends)
        if inside
    )
