"""Integer programs: which options units should have, by formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from step.areas import Area
from step.fitting.choices import Chosen, Space

Budget = Mapping[str, float]
"""The most of a resource of `step.areas.Area`, by its name."""

SECONDS = 5.0
"""Of one integer program at most."""

GAP = 3e-3
"""The part by which its result may be worse than the best."""


@dataclass(frozen=True)
class Candidates:
    """Integer programs of ``space``, whose units fire so often (``firings``), and with each of their options have
    results so many cycles ``later``.

    How long a run takes is a longest path: a unit begins and ends no sooner than those in front of it, and as much
    later as its option says; from its begin to its end it is busy for all of its firings.
    """

    space: Space
    firings: Sequence[int]
    later: Sequence[Sequence[float]]

    def cycles(self, chosen: Chosen) -> float:
        """The length of the path of what is ``chosen``."""
        begin, end = dict[str, float](), dict[str, float]()
        place = {unit.name: at for at, unit in enumerate(self.space.units)}
        for node in self.space.netlist.units:
            at = place.get(node.name)
            later, busy = (0.0, 0.0) if at is None else (self._later(at, chosen[at]), self._busy(at, chosen[at]))
            before = [name for name, behind in self._edges if behind == node.name]
            begin[node.name] = max((begin[name] for name in before), default=0.0) + later
            end[node.name] = max(begin[node.name] + busy, *(end[name] + later for name in before), 0.0)
        return max(end.values())

    def narrowest(self, cycles: float) -> Chosen | None:
        """The options with the least LUT sites of a path of at most so many ``cycles``; None where there are none."""
        return self._solved(np.append(self._takes("lut_sites"), 0.0), cycles, {})

    def fastest(self, spare: Budget) -> Chosen | None:
        """The options with the shortest path which take no more than is ``spare``; None where there are none."""
        return self._solved(np.append(1e-6 * self._takes("lut_sites"), 1.0), np.inf, spare)

    # -- variables: whether an option is taken; when each unit begins, and ends; the length of the path --------------

    def _busy(self, at: int, place: int) -> float:
        return self.firings[at] * self.space.units[at].options[place].interval

    def _later(self, at: int, place: int) -> float:
        return self.later[at][place]

    def _takes(self, name: str) -> np.ndarray:
        """So much of a resource of `Area` takes every option."""
        return self._each(lambda at, place: getattr(self.space.units[at].options[place].area, name))

    @cached_property
    def _edges(self) -> list[tuple[str, str]]:
        """Pairs of units of which the first one sends to the second one, without what is fed back."""
        order = {node.name: at for at, node in enumerate(self.space.netlist.units)}
        pairs = ((channel.producer[0], channel.consumer[0]) for channel in self.space.netlist.channels)
        return [(before, behind) for before, behind in dict.fromkeys(pairs) if order[before] < order[behind]]

    @cached_property
    def _options(self) -> list[tuple[int, int]]:
        """The unit and the place of each option."""
        return [(at, place) for at, unit in enumerate(self.space.units) for place in range(len(unit.options))]

    def _each(self, number: Callable[[int, int], float]) -> np.ndarray:
        """``number`` of every option; times have none."""
        options = [number(at, place) for at, place in self._options]
        return np.array(options + [0.0] * (2 * len(self.space.netlist.units)), float)

    @cached_property
    def _constraints(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A row for each constraint, with its least and its greatest value."""
        nodes, options = [node.name for node in self.space.netlist.units], len(self._options)
        begins = {name: options + at for at, name in enumerate(nodes)}
        ends = {name: options + len(nodes) + at for at, name in enumerate(nodes)}
        path, width = options + 2 * len(nodes), options + 2 * len(nodes) + 1
        owner = np.array([at for at, _ in self._options])
        place = {unit.name: at for at, unit in enumerate(self.space.units)}
        busy, later = self._each(self._busy), self._each(self._later)
        rows: list[np.ndarray] = []

        def follows(name: str, what: np.ndarray, first: int | None, second: int) -> None:
            """The time ``second`` is ``what`` of the unit's option behind ``first``, or more."""
            row = np.zeros(width)
            if name in place:
                row[:options] = np.where(owner == place[name], what[:options], 0.0)
            if first is not None:
                row[first] = 1.0
            row[second] -= 1.0
            rows.append(row)

        for name in nodes:
            follows(name, later, None, begins[name])
            follows(name, busy, begins[name], ends[name])
            follows("", later, ends[name], path)
        for before, behind in self._edges:
            follows(behind, later, begins[before], begins[behind])
            follows(behind, later, ends[before], ends[behind])
        one = np.zeros((len(self.space.units), width))
        one[owner, np.arange(options)] = 1.0
        high = np.append(np.ones(len(one)), np.zeros(len(rows)))
        return np.vstack([one, *rows]), np.where(high > 0, 1.0, -np.inf), high

    def _solved(self, cost: np.ndarray, most: float, spare: Budget) -> Chosen | None:
        from scipy.optimize import Bounds, LinearConstraint, milp

        options, times = len(self._options), 2 * len(self.space.netlist.units)
        constraints = [LinearConstraint(*self._constraints)]
        for name, amount in spare.items():
            constraints.append(LinearConstraint(np.append(self._takes(name), 0.0)[None], -np.inf, amount))
        upper = np.concatenate([np.ones(options), np.full(times, np.inf), [most]])
        found = milp(
            cost,
            integrality=np.append(np.ones(options), np.zeros(times + 1)),
            bounds=Bounds(np.zeros(options + times + 1), upper),
            constraints=constraints,
            options={"time_limit": SECONDS, "mip_rel_gap": GAP},
        )
        if found.x is None:
            return None
        taken = {at: place for (at, place), value in zip(self._options, found.x, strict=False) if value > 0.5}
        return tuple(taken[at] for at in range(len(self.space.units)))


def total(space: Space, chosen: Chosen) -> Area:
    """The area of what is chosen, without the rest of the program."""
    return sum((option.area for option in space.options(chosen)), Area())
