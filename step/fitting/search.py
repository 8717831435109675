"""The search of a fit: candidates of integer programs, and from the best one on narrower and wider units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from step.areas import Area
from step.fitting.candidates import Candidates, total
from step.fitting.choices import Chosen, Space, fabrics
from step.fitting.goal import Goal
from step.fitting.trials import Choice, Trials, firings
from step.lowering.netlist import lower
from step.running.result import Status

HALVINGS = 7
"""How often the bound of an integer program is halved, or made larger by half."""

SPARE = (1.0, 0.97, 0.94, 0.9)
"""Parts of a budget that candidates take, as an area is not quite the sum of its parts."""

Found = tuple[Choice, Space, Chosen]
"""A choice, and where it is from."""


class Search:
    """Choices for ``goal``, of which the one on the fabric of the program is ``asked``; at most ``runs`` of them are
    neighbours of what the integer programs say."""

    def __init__(self, trials: Trials, asked: Choice, goal: Goal, runs: int) -> None:
        self.trials, self.asked, self.goal, self.runs = trials, asked, goal, runs

    def best(self) -> Found:
        """The best that was found."""
        starts = [self._best(self._started(space)) for space in self._spaces()]
        starts.sort(key=lambda each: self.goal.cost(each[0]))
        most = len(self.trials.known) + self.runs
        best = self._improved(starts[0], most)
        return self._best([best, *(self._improved(each, most) for each in starts[1:])])

    def _best(self, found: Iterator[Found] | Sequence[Found]) -> Found:
        return min(found, key=lambda each: self.goal.cost(each[0]))

    # -- candidates -----------------------------------------------------------------------------------------------

    def _spaces(self) -> Iterator[Space]:
        """Those of the fabrics on which the program runs with all lanes, which are fast enough; without a budget of
        memories, of those with the same links the smallest one."""
        found: dict[tuple[int, ...], tuple[Choice, Space]] = {}
        for fabric in fabrics(self.asked.fabric):
            space = Space.of(lower(self.trials.program.graph, fabric))
            choice = self.trials.choice(space, space.asked)
            if choice is not None and (self.goal.cycles is None or choice.cycles <= self.goal.cycles):
                kind = (fabric.link_bytes, *([fabric.block_ram_words] if self.goal.limits else []))
                if kind not in found or self.goal.cost(choice) < self.goal.cost(found[kind][0]):
                    found[kind] = choice, space
        return (space for _, space in found.values())

    def _started(self, space: Space) -> Iterator[Found]:
        """What is there, and candidates."""
        result, whole = self.trials.run(space.netlist.fabric), self.trials.choice(space, space.asked)
        assert result is not None and whole is not None and result.status == Status.FINISHED
        yield whole, space, space.asked
        if not space.units:
            return
        counts = firings(space, result)
        programs = Candidates(space, counts, self._later(space, counts, whole))
        bounded = self.goal.cycles is not None and not self.goal.limits
        yield from self._narrowest(space, programs, whole) if bounded else self._fastest(space, programs, whole)

    def _narrowest(self, space: Space, programs: Candidates, whole: Choice) -> Iterator[Found]:
        """The least area within paths that are longer by the loss, or by as much as the runs say that they may be."""
        assert self.goal.cycles is not None
        path, loss = programs.cycles(space.asked), self.goal.cycles - whole.cycles
        part, step = 1.0, 0.5
        for _ in range(HALVINGS):
            chosen = programs.narrowest(path + part * loss)
            choice = None if chosen is None else self.trials.choice(space, chosen)
            if choice is not None and chosen is not None:
                yield choice, space, chosen
            fits = choice is not None and self.goal.misses(choice) == 0
            part += step if fits else -step
            step /= 1 if fits and part > 1 else 2

    def _fastest(self, space: Space, programs: Candidates, whole: Choice) -> Iterator[Found]:
        """The shortest paths within the budget, and the least there is."""
        fixed = whole.area - total(space, space.asked)
        spares = [{n: most * part - getattr(fixed, n) for n, most in self.goal.limits.items()} for part in SPARE]
        for chosen in (*(programs.fastest(spare) for spare in spares), (0,) * len(space.units)):
            choice = None if chosen is None else self.trials.choice(space, chosen)
            if choice is not None and chosen is not None:
                yield choice, space, chosen

    def _later(self, space: Space, counts: Sequence[int], whole: Choice) -> list[list[float]]:
        """For each option of each unit, by how many cycles the run is longer if the unit, and those alike, have it.

        From the first one on that is too slow, or alone too late, it is as much later as the latency is longer.
        """
        most = 2 * whole.cycles if self.goal.cycles is None else self.goal.cycles
        later = [[0.0] * len(unit.options) for unit in space.units]
        for group in space.alike:
            options, late, known = space.units[group[0]].options, 0.0, len(space.units[group[0]].options) - 1
            busiest = max(counts[at] for at in group)
            for place in reversed(range(len(options) - 1)):
                if known == place + 1 and busiest * options[place].interval <= most and late <= most - whole.cycles:
                    chosen = tuple(place if at in group else all for at, all in enumerate(space.asked))
                    choice = self.trials.choice(space, chosen)
                    known, late = place, max(late, choice.cycles - whole.cycles if choice is not None else 0.0)
                for at in group:
                    later[at][place] = late + max(0, options[place].latency - options[known].latency)
        return later

    # -- from a candidate on ----------------------------------------------------------------------------------------

    def _improved(self, start: Found, most: int) -> Found:
        """Make units narrower or wider as long as that helps: all that are alike, one alone, or one for another."""
        choice, space, chosen = start
        going = True
        while going:
            going = False
            for moved in self._moves(space, chosen):
                if len(self.trials.known) >= most:
                    return choice, space, chosen
                if self.goal.hopeless(choice.area + _difference(space, chosen, moved), choice):
                    continue
                found = self.trials.choice(space, moved)
                if found is not None and self.goal.cost(found) < self.goal.cost(choice):
                    choice, chosen, going = found, moved, True
                    break
        return choice, space, chosen

    def _moves(self, space: Space, chosen: Chosen) -> Iterator[Chosen]:
        """Neighbours of ``chosen``: those that save most first, then exchanges of two."""
        groups = [each for each in space.alike if len(each) > 1]
        single = [(at,) for at in range(len(chosen))]
        steps = (-1, 1) if self.goal.cycles is not None else (1, -1)
        for step in steps:
            yield from _ordered(space, chosen, [dict.fromkeys(each, step) for each in (*groups, *single)])
        for others in (groups, single):
            pairs = ((wider, narrower, by) for wider in others for narrower in others for by in (1, 2))
            moves = [{**dict.fromkeys(wider, 1), **dict.fromkeys(narrower, -by)} for wider, narrower, by in pairs]
            yield from _ordered(space, chosen, moves)


def _ordered(space: Space, chosen: Chosen, moves: Sequence[Mapping[int, int]]) -> list[Chosen]:
    """What ``moves``, each units with how many options further they go, make of ``chosen``: the least area first."""
    there = {each: _difference(space, chosen, each) for each in (_stepped(space, chosen, move) for move in moves)}
    return sorted(there, key=lambda each: there[each].lut_sites)


def _difference(space: Space, chosen: Chosen, moved: Chosen) -> Area:
    """What ``moved`` takes more than ``chosen``."""
    changed = (each for each in zip(space.units, chosen, moved, strict=True) if each[1] != each[2])
    return sum((unit.options[new].area - unit.options[old].area for unit, old, new in changed), Area())


def _stepped(space: Space, chosen: Chosen, steps: Mapping[int, int]) -> Chosen:
    """``chosen`` with units so many options further, or at the end."""
    found = list(chosen)
    for at, step in steps.items():
        found[at] = min(max(found[at] + step, 0), len(space.units[at].options) - 1)
    return tuple(found)
