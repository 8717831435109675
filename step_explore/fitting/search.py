"""The search of a fit: candidates of integer programs, and from the best one on narrower and wider units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step_explore.areas import Area, area_of
from step_explore.fitting.candidates import Candidates
from step_explore.fitting.choices import Chosen, Space, fabrics
from step_explore.fitting.goal import Goal
from step_explore.fitting.trials import Choice, Trials, firings

HALVINGS = 8
"""How often the bound of an integer program is halved, or made larger by half."""

SPARE = (1.0, 0.97, 0.94, 0.9)
"""Parts of a budget that candidates take, as an area is not quite the sum of its parts."""

NEAR = 0.1
"""The part by which a candidate may miss the goal that is made wider until it does not."""

Found = tuple[Choice, Space, Chosen]
"""A choice, and where it is from."""


class Search:
    """Choices for ``goal``, of which the one on the fabric of the program is ``asked``; at most ``runs`` of them are
    neighbours of what the integer programs say."""

    def __init__(self, trials: Trials, asked: Choice, goal: Goal, runs: int) -> None:
        self.trials, self.asked, self.goal, self.runs = trials, asked, goal, runs

    def best(self) -> Found:
        """The best that was found."""
        found = [list(self._started(space)) for space in self._spaces()]
        starts = [self._best(each) for each in found]
        near = [each for each in chain(*found) if 0 < self.goal.misses(each[0]) < NEAR]
        if near:  # with a few wider units it may be better than all that reach the goal
            starts.append(min(near, key=lambda each: each[0].area.lut_sites))
        starts.sort(key=self._cost)
        runs = self.runs // len(starts)
        better = [self.improved(each, len(self.trials.known) + runs) for each in starts]
        return self.improved(self._best(better), len(self.trials.known) + runs)

    def _cost(self, found: Found) -> tuple[float, ...]:
        return self.goal.cost(found[0])

    def _best(self, found: Iterable[Found]) -> Found:
        return min(found, key=self._cost)

    def _found(self, space: Space, chosen: Chosen | None) -> Iterator[Found]:
        """What is ``chosen``, if it runs."""
        choice = None if chosen is None else self.trials.choice(space, chosen)
        if choice is not None and chosen is not None:
            yield choice, space, chosen

    # -- candidates -----------------------------------------------------------------------------------------------

    def _spaces(self) -> list[Space]:
        """Those of the fabrics on which the program is fast enough with all lanes, else the nearest one; without a
        budget the smallest one of each width of links."""
        found: dict[int, list[Choice]] = {}
        for fabric in fabrics(self.asked.fabric):
            choice = self.trials.on(fabric, partial(self._area, fabric))
            found.setdefault(fabric.link_bytes, []).extend([] if choice is None else [choice])
        fit = [sorted(filter(self._fast_enough, alike), key=self.goal.cost) for alike in found.values()]
        taken = [choice for alike in fit for choice in (alike if self.goal.limits else alike[:1])]
        if not taken:
            taken = [min(chain(*found.values()), key=self.goal.cost)]
        return [Space.of(self._netlist(each.fabric)) for each in taken]

    def _area(self, fabric: FabricConfig) -> Area:
        return area_of(self._netlist(fabric))

    def _netlist(self, fabric: FabricConfig) -> Netlist:
        return lower(self.trials.program.graph, fabric)

    def _fast_enough(self, choice: Choice) -> bool:
        return self.goal.cycles is None or choice.cycles <= self.goal.cycles

    def _started(self, space: Space) -> Iterator[Found]:
        """What is there, and candidates."""
        (whole,) = self._found(space, space.asked)
        yield whole
        if not space.units:
            return
        result = self.trials.run(space.fabric(space.asked))
        assert result is not None
        counts = firings(result)
        formulas = Candidates.by_formulas(space, counts)
        programs = replace(formulas, later=self._later(formulas, whole[0]))
        bounded = self.goal.cycles is not None and not self.goal.limits
        yield from self._narrowest(space, programs, whole[0]) if bounded else self._fastest(space, programs, whole[0])

    def _narrowest(self, space: Space, programs: Candidates, whole: Choice) -> Iterator[Found]:
        """The least area within paths that are longer by the loss, or by as much as the runs say that they may be."""
        assert self.goal.cycles is not None
        path, loss = programs.cycles(space.asked), self.goal.cycles - whole.cycles
        part, step = 1.0, 0.5
        for _ in range(HALVINGS):
            found = list(self._found(space, programs.narrowest(path + part * loss)))
            yield from found
            fits = any(self.goal.misses(choice) == 0 for choice, _, _ in found)
            part += step if fits else -step
            step /= 1 if fits and part > 1 else 2

    def _fastest(self, space: Space, programs: Candidates, whole: Choice) -> Iterator[Found]:
        """The shortest paths within the budget, and the least there is."""
        rest, least = whole.area - space.parts(space.asked), (0,) * len(space.units)
        spares = [{n: most * part - getattr(rest, n) for n, most in self.goal.limits.items()} for part in SPARE]
        for chosen in (*(programs.fastest(spare) for spare in spares), least):
            yield from self._found(space, chosen)

    def _later(self, formulas: Candidates, whole: Choice) -> list[list[float]]:
        """For each option of each unit, by how many cycles a run is longer than formulas say if the unit, and those
        alike, have it: several tokens may come at once, of which each waits for those before it.

        Lanes are measured with the links that there are, until they are too slow, or alone too late; narrower links
        with all lanes. From there on formulas say what is more.
        """
        space = formulas.space
        path = formulas.cycles(space.asked)
        most = 2 * whole.cycles if self.goal.cycles is None else self.goal.cycles
        later = [[0.0] * len(unit.options) for unit in space.units]

        def more(group: Sequence[int], place: int) -> tuple[float, bool]:
            """What a run takes more than formulas say where just ``group`` has an option; whether it is too long."""
            chosen = tuple(place if at in group else all for at, all in enumerate(space.asked))
            expected = formulas.cycles(chosen) - path
            if expected > most - whole.cycles:
                return 0.0, True
            found = list(self._found(space, chosen))
            if not found:
                return most, True
            taken = found[0][0].cycles
            return max(0.0, taken - whole.cycles - expected), taken > most

        for group in space.alike:
            unit = space.units[group[0]]
            of_lanes: dict[int, float] = {}
            for link in reversed(unit.links()):
                inside = [place for place, each in enumerate(unit.options) if each.link == link]
                if link == unit.options[-1].link:
                    extra, over = 0.0, False
                    for place in reversed(inside[:-1]):
                        if not over:
                            known, over = more(group, place)
                            extra = max(extra, known)
                        of_lanes[unit.options[place].lanes] = extra
                    extra = 0.0
                else:
                    extra, _ = more(group, inside[-1])
                for at in group:
                    for place in inside:
                        lanes = unit.options[place].lanes
                        of = min((each for each in of_lanes if each >= lanes), default=0)
                        later[at][place] = extra + of_lanes.get(of, 0.0)
        return later

    # -- from a candidate on ----------------------------------------------------------------------------------------

    def improved(self, start: Found, most: int) -> Found:
        """Make units narrower or wider as long as that helps: all that are alike, one alone, or one for another; until
        ``most`` choices have run."""
        choice, space, chosen = start
        going = True
        while going:
            going = False
            for moved in self._moves(space, chosen, wider=self.goal.cycles is None or self.goal.misses(choice) > 0):
                if len(self.trials.known) >= most:
                    return choice, space, chosen
                if self.goal.hopeless(choice.area + space.difference(chosen, moved), choice):
                    continue
                found = self.trials.choice(space, moved)
                if found is not None and self.goal.cost(found) < self.goal.cost(choice):
                    choice, chosen, going = found, moved, True
                    break
        return choice, space, chosen

    def _moves(self, space: Space, chosen: Chosen, *, wider: bool) -> Iterator[Chosen]:
        """Neighbours of ``chosen``, the smallest first: narrower ones and ``wider`` ones, then exchanges of two."""
        single = [(at,) for at in range(len(chosen))]
        groups = [each for each in space.alike if len(each) > 1]
        for step in (1, -1) if wider else (-1, 1):
            lanes = [_stepped(space, chosen, each, lanes=step) for each in (*groups, *single)]
            links = [_stepped(space, chosen, each, links=step) for each in space.alike]
            yield from _ordered(space, chosen, [*lanes, *links])
        for others in (groups, single):
            more = [_stepped(space, chosen, each, lanes=1) for each in others]
            pairs = (_stepped(space, each, other, lanes=-by) for each in more for other in others for by in (1, 2))
            yield from _ordered(space, chosen, pairs)


def _ordered(space: Space, chosen: Chosen, moves: Iterable[Chosen]) -> list[Chosen]:
    """``moves``, the one with the least area first."""
    there = {each: space.difference(chosen, each).lut_sites for each in moves if each != chosen}
    return sorted(there, key=there.__getitem__)


def _stepped(space: Space, chosen: Chosen, units: Sequence[int], lanes: int = 0, links: int = 0) -> Chosen:
    """``chosen`` with ``units`` so many options further."""
    found = list(chosen)
    for at in units:
        found[at] = space.units[at].stepped(found[at], lanes, links)
    return tuple(found)
