"""Integer programs on closed formulas, which choose an option for each unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from step_explore.fitting.space import Places, Space
from step_explore.integer_program import Constraint, least

Budget = Mapping[str, float]
"""The most of a resource of `step_explore.areas.Area`, by its name."""

SECONDS = 10.0
"""The most that one integer program may take."""

GAP = 3e-3
"""The part by which its result may be worse than the best, where nothing else is said."""

Row = dict[Any, float]
"""The factors of variables in a constraint, or in what is to be the least."""

BEGIN, END, PATH = "begin", "end", "path"
"""Variables: the begin and the end of a node, by its name, and the length of the path."""


@dataclass(frozen=True)
class LongestPath:
    """Integer programs of ``space``, whose nodes fire so often (``firings``, by name), and whose units have results so
    many cycles ``later`` with each option than by the latencies of `Option`; None: no later.

    How long a run takes is a longest path: a node begins and ends no sooner than those in front of it, and later by
    what its option has more latency, by ``later``, and by what words wait for where they become wider; from its begin
    to its end it is busy for all of its firings.
    """

    space: Space
    firings: Mapping[str, int]
    later: Sequence[Sequence[float]] | None = None
    gap: float = GAP

    @cached_property
    def path(self) -> float:
        """The length of the path of what the fabric has."""
        return self.cycles(self.space.asked)

    def cycles(self, chosen: Places) -> float:
        """The length of the path of what is ``chosen``."""
        begin, end = dict[str, float](), dict[str, float]()
        before: dict[str, list[str]] = {}
        for first, second in self._edges:
            before.setdefault(second, []).append(first)
        for node in self.space.netlist.units:
            name, at = node.name, self.space.owners.get(node.name)
            busy, later = (0.0, 0.0) if at is None else self._takes(name, at, chosen[at])
            waits = {other: later + self._waits(other, name, chosen) for other in before.get(name, ())}
            begin[name] = max([later, *(begin[other] + cycles for other, cycles in waits.items())])
            end[name] = max([begin[name] + busy, *(end[other] + cycles for other, cycles in waits.items())])
        return max(end.values())

    def narrowest(self, cycles: float) -> Places | None:
        """The options with the least LUT sites of a path of at most so many ``cycles``; None where there are none."""
        return self._solved(self._cost("lut_sites"), cycles, {})

    def fastest(self, spare: Budget, *, together: bool = False) -> Places | None:
        """The options with the shortest path which take no more than is ``spare``; None where there are none.

        With ``together`` alike units have the same, which is found sooner.
        """
        sites = {at: 1e-6 * cost for at, cost in self._cost("lut_sites").items()}
        return self._solved({**sites, PATH: 1.0}, np.inf, spare, together=together)

    def _solved(self, cost: Row, most: float, spare: Budget, *, together: bool = False) -> Places | None:
        """The same options for alike units; and unless ``together`` then with the links of these, lanes of every
        unit."""
        same = self._least(cost, most, spare, None)
        return same if same is None or together else self._least(cost, most, spare, same)

    # -- what takes how long ------------------------------------------------------------------------------------------

    def _takes(self, name: str, at: int, place: int) -> tuple[float, float]:
        """The cycles that the node ``name`` of a unit is busy with an option, and by which its results are later."""
        unit = self.space.units[at]
        option, node = unit.options[place], unit.nodes.index(name)
        more = self.later[at][place] if self.later and node == 0 else 0
        later = option.latencies[node] - unit.options[-1].latencies[node] + more
        return self.firings.get(name, 0) * option.intervals[node], later

    def _waits(self, before: str, behind: str, chosen: Places) -> float:
        """By how much words come later behind one node than they do in front of another one."""
        seam = self._seams.get((before, behind))
        if seam is None:
            return 0.0
        space, ends = self.space, (self.space.owners[end] for end in (before, behind))
        links = tuple(space.units[at].options[chosen[at]].link for at in ends)
        return space.seams[seam].waits[links]  # type: ignore[index]

    @cached_property
    def _edges(self) -> list[tuple[str, str]]:
        """Pairs of nodes of which the first one sends to the second one, without what is fed back."""
        order = {node.name: at for at, node in enumerate(self.space.netlist.units)}
        pairs = ((channel.producer[0], channel.consumer[0]) for channel in self.space.netlist.channels)
        return [(before, behind) for before, behind in dict.fromkeys(pairs) if order[before] < order[behind]]

    @cached_property
    def _seams(self) -> dict[tuple[str, str], int]:
        """The seam between the units of two nodes, where there is one."""
        space, known = self.space, {(each.before, each.behind): at for at, each in enumerate(self.space.seams)}
        groups = {name: space.group_of[at] for name, at in space.owners.items()}
        pairs = {each: (groups.get(each[0], -1), groups.get(each[1], -1)) for each in self._edges}
        return {each: known[pair] for each, pair in pairs.items() if pair in known}

    # -- variables: whether an option is taken, the widths at a seam; when each node begins, and ends; the path -----

    @cached_property
    def _options(self) -> list[tuple[int, int]]:
        """The variables of the options of each unit."""
        return [(at, place) for at, unit in enumerate(self.space.units) for place in range(len(unit.options))]

    @cached_property
    def _names(self) -> list[Any]:
        """All variables, of which the path is the last one."""
        widths = [(at, links) for at, seam in enumerate(self.space.seams) for links in seam.area]
        times = [(node.name, time) for node in self.space.netlist.units for time in (BEGIN, END)]
        return [*self._options, *widths, *times, PATH]

    def _cost(self, name: str) -> Row:
        """So much of a resource of `Area` takes every option, and every pair of widths at a seam."""
        units, seams = self.space.units, self.space.seams
        options = {(at, place): getattr(units[at].options[place].area, name) for at, place in self._options}
        widths = {(at, each): getattr(area, name) for at, seam in enumerate(seams) for each, area in seam.area.items()}
        return {**options, **widths}

    def _choices(self) -> Iterator[Row]:
        """Sums that are one, or nothing: a unit has an option, alike units have the same links, and so have seams."""
        space = self.space
        for at, each in enumerate(space.units):
            yield {(at, place): 1.0 for place in range(len(each.options))}
        for first, *others in space.alike:
            for link in space.units[first].links():
                for other in others:
                    yield {**self._with(first, link, 1.0), **self._with(other, link, -1.0)}
        for at, seam in enumerate(space.seams):
            for end, group in enumerate((seam.before, seam.behind)):
                unit = space.alike[group][0]
                for link in space.units[unit].links():
                    widths = {(at, links): -1.0 for links in seam.area if links[end] == link}
                    yield {**self._with(unit, link, 1.0), **widths}

    def _with(self, at: int, link: int, number: float) -> Row:
        """``number`` for the options of a unit with such links."""
        options = enumerate(self.space.units[at].options)
        return {(at, place): number for place, option in options if option.link == link}

    def _follows(self) -> Iterator[Row]:
        """Sums that are not positive: what has to be over before what."""
        for node in self.space.netlist.units:
            begin, end = (node.name, BEGIN), (node.name, END)
            yield {**self._options_of(node.name, later=True), begin: -1.0}
            yield {**self._options_of(node.name, later=False), begin: 1.0, end: -1.0}
            yield {end: 1.0, PATH: -1.0}
        for before, behind in self._edges:
            waits, seam = self._options_of(behind, later=True), self._seams.get((before, behind))
            if seam is not None:
                waits |= {(seam, links): cycles for links, cycles in self.space.seams[seam].waits.items()}
            for time in (BEGIN, END):
                yield {**waits, (before, time): 1.0, (behind, time): -1.0}

    def _options_of(self, name: str, *, later: bool) -> Row:
        """The cycles that the node ``name`` is busy with each option, or by which its results are ``later``."""
        at = self.space.owners.get(name)
        places = () if at is None else range(len(self.space.units[at].options))
        return {(at, place): self._takes(name, at, place)[later] for place in places}  # type: ignore[arg-type]

    @cached_property
    def _constraints(self) -> list[Constraint]:
        """All of them; those of options come first, one of which each unit has."""
        choices, units = self._choices(), len(self.space.units)
        ones = [(row, float(at < units), float(at < units)) for at, row in enumerate(choices)]
        return [*ones, *((row, -np.inf, 0.0) for row in self._follows())]

    def _least(self, cost: Row, most: float, spare: Budget, links: Places | None) -> Places | None:
        """The least ``cost`` of a path of at most ``most``: of options with the ``links`` of those chosen, or of the
        same ones of units that are alike."""
        units = self.space.units
        limits: Row = {**dict.fromkeys(self._options, 1.0), PATH: most}
        constraints = [*self._constraints, *((self._cost(name), -np.inf, limit) for name, limit in spare.items())]
        if links is None:
            pairs = [(first, other) for first, *others in self.space.alike for other in others]
            for first, other in pairs:
                places = range(len(units[first].options))
                constraints += [({(first, place): 1.0, (other, place): -1.0}, 0.0, 0.0) for place in places]
        else:
            for at, place in self._options:
                if units[at].options[place].link != units[at].options[links[at]].link:
                    limits[at, place] = 0.0
        options = {"time_limit": SECONDS, "mip_rel_gap": self.gap}
        _, found = least(cost, self._names, limits, self._options, constraints, **options)
        if found is None:
            return None
        taken = {at: place for at, place in self._options if found[at, place] > 0.5}
        return tuple(taken[at] for at in range(len(units)))
