"""The search for hardware of one program: choices of integer programs, and from the best one on narrower and wider
units. `Fitter.best` takes minutes; `Fitter.rough` and `Fitter.linked` take seconds: the area decides how wide links can
be, one integer program chooses lanes, and for programs that are worth it another one links as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

from step.lowering.fabric import FabricConfig
from step_explore.areas import Area, area_of
from step_explore.fitting.depths import shallower
from step_explore.fitting.goal import Goal
from step_explore.fitting.longest_path import LongestPath
from step_explore.fitting.space import COARSE, LINKED, NARROWEST, Grain, Places, Space, fabrics
from step_explore.fitting.trials import Choice, Trials, firings

HALVINGS = 8
"""How often the bound of an integer program is halved, or made larger by half."""

SPARE = (1.0, 0.97, 0.94, 0.9)
"""Parts of a budget that candidates take, as an area is not quite the sum of its parts."""

NEAR = 0.1
"""The part by which a candidate may miss the goal that is made wider until it does not."""

ROOM = 2
"""How many times the area with a lane in every unit there should be: the rest is for lanes."""

GAP = 0.02
"""The part by which rough paths may be longer than the shortest ones: formulas are no more exact."""


class Fitter:
    """Choices for the program of ``trials`` that reach ``goal``."""

    def __init__(self, trials: Trials, goal: Goal) -> None:
        self.trials, self.goal = trials, goal

    def best(self, asked: Choice, runs: int) -> Choice:
        """The best that was found on the fabric ``asked`` for, and narrower ones; at most ``runs`` choices are
        neighbours of those of integer programs."""
        found = [list(self._started(space)) for space in self._spaces(asked)]
        starts = [min(each, key=self.goal.cost) for each in found]
        near = [each for each in chain(*found) if 0 < self.goal.misses(each) < NEAR]
        if near:  # with a few wider units it may be better than all that reach the goal
            starts.append(min(near, key=lambda each: each.area.lut_sites))
        starts.sort(key=self.goal.cost)
        runs //= len(starts)
        better = [self.improved(each, runs) for each in starts]
        return self.improved(min(better, key=self.goal.cost), runs)

    # -- choices of integer programs --------------------------------------------------------------------------------

    def _spaces(self, asked: Choice) -> list[Space]:
        """Fabrics on which the program is fast enough with all lanes, else the nearest one; without a budget the
        smallest one of each width of links."""
        found: dict[int, list[Choice]] = {}
        for fabric in fabrics(asked.fabric):
            choice = self.trials.on(fabric)
            found.setdefault(fabric.link_bytes, []).extend([] if choice is None else [choice])
        fast = [sorted(filter(self.goal.is_fast_enough, same), key=self.goal.cost) for same in found.values()]
        taken = [choice for same in fast for choice in (same if self.goal.limits else same[:1])]
        if not taken:
            taken = [min(chain(*found.values()), key=self.goal.cost)]
        return [Space.of(self.trials.netlist(each.fabric)) for each in taken]

    def _started(self, space: Space) -> Iterator[Choice]:
        """The whole fabric, and choices of integer programs."""
        whole = self.trials.choice(space, space.asked)
        assert whole is not None
        yield whole
        if not space.units:
            return
        result = self.trials.run(whole.fabric)
        assert result is not None
        formulas = LongestPath(space, firings(result))
        programs = replace(formulas, later=self._later(formulas, whole))
        if self.goal.cycles is not None and not self.goal.limits:
            yield from self._narrowest(programs, whole, self.goal.cycles)
            return
        least = (0,) * len(space.units)
        for places in (*map(programs.fastest, self._spares(space, whole.area)), least):
            yield from filter(None, [self.trials.choice(space, places)])

    def _narrowest(self, programs: LongestPath, whole: Choice, most: int) -> Iterator[Choice]:
        """The least area within paths that are longer by the loss, or by as much as the runs say that they may be."""
        part, step = 1.0, 0.5
        for _ in range(HALVINGS):
            path = programs.path + part * (most - whole.cycles)
            choice = self.trials.choice(programs.space, programs.narrowest(path))
            fits = choice is not None and self.goal.misses(choice) == 0
            yield from filter(None, [choice])
            part += step if fits else -step
            step /= 1 if fits and part > 1 else 2

    def _spares(self, space: Space, area: Area) -> Iterator[dict[str, float]]:
        """The limits without what is not chosen of ``area``, and a little less."""
        rest = area - space.parts(space.asked)
        for part in SPARE:
            yield {name: most * part - getattr(rest, name) for name, most in self.goal.limits.items()}

    def _later(self, formulas: LongestPath, whole: Choice) -> list[list[float]]:
        """For each option of each unit, by how many cycles a run is longer than formulas say if the unit, and those
        alike, have it: several tokens may come at once, of which each waits for those before it.

        Lanes are measured with the links that there are, until they are too slow, or alone too late; narrower links
        with all lanes. From there on formulas say what is more.
        """
        later: dict[int, list[float]] = {}
        for group in formulas.space.alike:
            options = formulas.space.units[group[0]].options
            last = {option.link: place for place, option in enumerate(options)}
            extra, over, of_lanes = 0.0, False, dict[int, float]()
            for place in reversed(range(last[options[-1].link])):
                if options[place].link == options[-1].link:
                    if not over:
                        more, over = self._more(formulas, whole, group, place)
                        extra = max(extra, more)
                    of_lanes[options[place].lanes] = extra
            of_link = {options[-1].link: 0.0}
            for link in sorted(last.keys() - of_link.keys(), reverse=True):
                of_link[link], _ = self._more(formulas, whole, group, last[link])
            for at in group:
                later[at] = [
                    of_link[each.link] + of_lanes.get(min((n for n in of_lanes if n >= each.lanes), default=0), 0.0)
                    for each in options
                ]
        return [later[at] for at in range(len(formulas.space.units))]

    def _more(self, formulas: LongestPath, whole: Choice, group: Sequence[int], place: int) -> tuple[float, bool]:
        """By how much a run is longer than formulas say where just ``group`` has an option; and whether that is too
        long."""
        space = formulas.space
        most = 2 * whole.cycles if self.goal.cycles is None else self.goal.cycles
        places = tuple(place if at in group else all for at, all in enumerate(space.asked))
        expected = formulas.cycles(places) - formulas.path
        if expected > most - whole.cycles:
            return 0.0, True
        choice = self.trials.choice(space, places)
        if choice is None:
            return most, True
        return max(0.0, choice.cycles - whole.cycles - expected), choice.cycles > most

    # -- quickly ----------------------------------------------------------------------------------------------------

    @cached_property
    def least(self) -> Choice:
        """The narrowest links, and a lane in every unit; it did not run, so its cycles are 0."""
        fabric = _bare(self._fabrics[-1])
        return Choice(fabric, area_of(self.trials.netlist(fabric)), 0)

    def rough(self) -> Choice | None:
        """The choice with one width for all links; None where nothing fits the limits."""
        return None if self._base is None else self._chosen(self._base, COARSE)

    def linked(self, rough: Choice) -> Choice:
        """The better one of ``rough`` and of what has a width for the links of every unit."""
        assert self._base is not None
        wider = [each for each in self._fabrics if each.link_bytes <= 2 * self._base.link_bytes]
        found = self._chosen(wider[0], LINKED)
        return rough if found is None else min(rough, found, key=self.goal.cost)

    @cached_property
    def _fabrics(self) -> list[FabricConfig]:
        """Fabrics with narrower links, the widest first."""
        widths = [self.trials.program.fabric.link_bytes]
        while widths[-1] // 2 >= NARROWEST:
            widths.append(widths[-1] // 2)
        return [as_wide(self.trials.program.fabric, each) for each in widths]

    @cached_property
    def _base(self) -> FabricConfig | None:
        """The widest links that leave room for lanes, else the narrowest ones if these fit."""
        for fabric in self._fabrics:
            if self.goal.over(area_of(self.trials.netlist(_bare(fabric))).times(ROOM)) == 0:
                return fabric
        return self._fabrics[-1] if self.goal.over(self.least.area) == 0 else None

    def _chosen(self, fabric: FabricConfig, grain: Grain) -> Choice | None:
        """The choice of the integer program among the options on ``fabric``, as much smaller as has to be."""
        result = self.trials.run(fabric)
        if result is None:
            return None
        netlist = self.trials.netlist(fabric)
        space = Space.of(netlist, grain)
        programs = LongestPath(space, firings(result), gap=GAP)
        for spare in self._spares(space, area_of(netlist)):
            choice = self.trials.choice(space, programs.fastest(spare, together=grain is COARSE))
            if choice is not None and self.goal.misses(choice) == 0:
                return choice
        return None

    # -- from a choice on -------------------------------------------------------------------------------------------

    def improved(self, best: Choice, runs: int) -> Choice:
        """``best`` with units that are narrower or wider as long as that helps: all that are alike, one alone, or one
        for another; until ``runs`` more choices have run."""
        most = len(self.trials.known) + runs
        while (better := self._better(best, most)) is not None:
            best = better
        return best

    def finished(self, best: Choice, runs: int) -> Choice:
        """`improved`, and with channels that are less deep."""
        return shallower(self.trials, self.improved(best, runs), self.goal)

    def _better(self, best: Choice, most: int) -> Choice | None:
        """The first neighbour that is better; None where there is none, or ``most`` choices have run before."""
        space = best.space
        assert space is not None
        for places in self._moves(space, best.places, wider=self.goal.cycles is None or self.goal.misses(best) > 0):
            if len(self.trials.known) >= most:
                return None
            if not self.goal.hopeless(best.area + space.difference(best.places, places), best):
                found = self.trials.choice(space, places)
                if found is not None and self.goal.cost(found) < self.goal.cost(best):
                    return found
        return None

    def _moves(self, space: Space, chosen: Places, *, wider: bool) -> Iterator[Places]:
        """Neighbours of ``chosen``, the smallest first: narrower ones and ``wider`` ones, then exchanges of two."""
        single = [(at,) for at in range(len(chosen))]
        groups = [each for each in space.alike if len(each) > 1]
        for step in (1, -1) if wider else (-1, 1):
            lanes = [space.stepped(chosen, each, lanes=step) for each in (*groups, *single)]
            links = [space.stepped(chosen, each, links=step) for each in space.alike]
            yield from _ordered(space, chosen, [*lanes, *links])
        for others in (groups, single):
            more = [space.stepped(chosen, each, lanes=1) for each in others]
            pairs = (space.stepped(each, other, lanes=-by) for each in more for other in others for by in (1, 2))
            yield from _ordered(space, chosen, pairs)


def _ordered(space: Space, chosen: Places, moves: Iterable[Places]) -> list[Places]:
    """``moves``, the one with the least area first."""
    there = {each: space.difference(chosen, each).lut_sites for each in moves if each != chosen}
    return sorted(there, key=there.__getitem__)


def _bare(fabric: FabricConfig) -> FabricConfig:
    """``fabric`` with a lane in every unit."""
    return replace(fabric, matmul_lanes=1, vector_lanes=1)


def as_wide(fabric: FabricConfig, link: int) -> FabricConfig:
    """``fabric`` with links of so many bytes, and ports of memory as wide, of the same bandwidth."""
    memory = fabric.memory
    if memory.dram is None:
        channels = max(1, memory.channels * memory.beat_bytes // link)
        interval = channels * link / memory.bandwidth
        if interval == int(interval) and interval >= 1:
            memory = replace(memory, beat_bytes=link, channels=channels, interval=int(interval))
    return replace(fabric, link_bytes=link, memory=memory)
