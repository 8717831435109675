"""Hardware as wide as its rates need: the least area within a loss of cycles, or the fewest cycles within an area."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import Annotated, Any

from step.areas import Area, area_of
from step.errors import EnvironmentProblem, InputError
from step.fitting.candidates import fastest, narrowest
from step.fitting.choices import Lanes, Space, fabrics
from step.fitting.result import Fitted, Given
from step.fitting.trials import Choice, Trials, firings
from step.host.progress import Progress, silent
from step.language.parameters import Within, settled
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.programs.prepare import Openable, open_program
from step.programs.program import Program
from step.running.result import RunResult, Status
from step.sweeps.front import undominated

RESOURCES = {"luts": "lut_sites", "dsp": "multipliers", "ram": "block_rams"}
"""The field of `step.areas.Area` that each part of a budget is about."""

SHARES = (2.0, 1.0, 0.5, 0.25, 0.1, 0.0)
"""Parts of the loss that the candidates of the integer program have for results that come later."""

SECONDS = 45.0
"""In which new choices are looked for."""

Goal = Callable[[Choice], tuple[float, ...]]
"""What is least where a choice is best."""


def fit(
    program: Openable,
    *,
    within: float | None = None,
    luts: int | None = None,
    dsp: int | None = None,
    ram: int | None = None,
    cycles: int | None = None,
    fabric: FabricConfig | None = None,
    progress: Progress = silent,
) -> Fitted:
    """Choose lanes of operators, the width of links and the kind of memories for ``program``.

    ``within`` is the part of the cycles that may be lost, 0.05 for 5 %: of all that reaches it the least LUT sites are
    taken. Or a budget: at most so many ``luts`` (sites), ``dsp`` (multipliers) and ``ram`` (block RAMs), in which the
    fewest cycles are looked for, and, with ``cycles``, the least area with at most so many. Areas are those of
    `step.areas`, cycles those of the fast model, which runs every choice.

    Raises `InputError` for a budget that nothing fits, with the nearest that was found, and where the program does not
    run on its own fabric. Needs SciPy.
    """
    limits = _limits(within, luts, dsp, ram, cycles)
    _check_scipy()
    opened = open_program(program, fabric=fabric)
    netlist = lower(opened.graph, opened.fabric)
    search = _Search(opened, netlist, limits, within, cycles, progress)
    return search.fitted()


def _limits(
    within: float | None, luts: int | None, dsp: int | None, ram: int | None, cycles: int | None
) -> dict[str, float]:
    """The budget by the names of resources; raises `InputError` where there is nothing to reach, or too much."""
    budget = {"luts": luts, "dsp": dsp, "ram": ram}
    given = {name: each for name, each in budget.items() if each is not None}
    for name, each in given.items():
        settled(each, Annotated[int, Within(0, math.inf)], name, InputError)
    if cycles is not None:
        settled(cycles, Annotated[int, Within(1, math.inf)], "cycles", InputError)
    if within is not None:
        settled(within, Annotated[float, Within(0, math.inf)], "within", InputError)
        if given or cycles is not None:
            raise InputError("a fit is within a loss of cycles or within an area, not both; give within, or a budget")
    elif not given and cycles is None:
        raise InputError("a fit needs a goal: within=0.05, or a budget of luts, dsp, ram or cycles")
    return {RESOURCES[name]: float(each) for name, each in given.items()}


def _check_scipy() -> None:
    try:
        import scipy.optimize  # noqa: F401
    except ImportError:
        raise EnvironmentProblem("a fit needs SciPy; install step-fabric[fit]") from None


class _Search:
    """The search of one `fit`."""

    def __init__(
        self,
        program: Program,
        netlist: Netlist,
        limits: Mapping[str, float],
        within: float | None,
        cycles: int | None,
        progress: Progress,
    ) -> None:
        self.program, self.limits = program, limits
        self.trials = Trials(program, progress)
        self.ends = monotonic() + SECONDS
        first = self._first(program)
        self.asked = Choice(program.fabric, area_of(netlist), first.cycles)
        self.most = cycles if within is None else math.floor(first.cycles * (1 + within))
        self.netlist = netlist

    def _first(self, program: Program) -> RunResult:
        result = self.trials.run(program.fabric)
        if result is None or result.status != Status.FINISHED:
            raise InputError(f"{program.name} does not run on its own fabric: step run --backend approx says why")
        return result

    # -- goals --------------------------------------------------------------------------------------------------

    def over(self, area: Area) -> float:
        """The part by which ``area`` is over the budget."""
        parts = [getattr(area, name) / max(most, 0.5) - 1 for name, most in self.limits.items()]
        return max(0.0, *parts) if parts else 0.0

    def goal(self, choice: Choice) -> tuple[float, ...]:
        """Least of all: by how much it misses; then the area where cycles are bounded, else the cycles."""
        late = 0.0 if self.most is None else max(0.0, choice.cycles / self.most - 1)
        sites = choice.area.lut_sites
        cost = (sites, choice.cycles) if self.most is not None else (choice.cycles, sites)
        return self.over(choice.area) + late, *cost

    # -- the search ---------------------------------------------------------------------------------------------

    def fitted(self) -> Fitted:
        spaces = self._spaces()
        best: tuple[Choice, Space, Lanes] | None = None
        for space, counts in spaces:
            for lanes in dict.fromkeys(self._candidates(space, counts)):
                choice = self.trials.choice(space, lanes)
                if choice is not None and (best is None or self.goal(choice) < self.goal(best[0])):
                    best = choice, space, lanes
        assert best is not None  # what was asked for is one of the candidates
        best = self._exchanged(*best)
        choice, space, lanes = best
        best = self._exchanged(choice, *space.each(lanes))
        self._check(best[0])
        return Fitted(self.program, self.asked, best[0], self._given(best), self._front(), len(self.trials.known))

    def _spaces(self) -> list[tuple[Space, list[int]]]:
        """The fabrics worth a look with all lanes there, with the firings of their operators; the smallest first."""
        found = []
        for fabric in fabrics(self.program.fabric):
            space = Space.of(lower(self.program.graph, fabric))
            result = self.trials.run(fabric)
            if result is None or result.status != Status.FINISHED:
                continue
            self.trials.choice(space, space.asked)
            if self.most is None or result.cycles <= self.most:
                found.append((space, firings(space, result)))
        return sorted(found, key=lambda each: each[0].area(each[0].asked).lut_sites)

    def _candidates(self, space: Space, counts: list[int]) -> Iterator[Lanes]:
        """The widths that integer programs choose, and those that are there."""
        yield space.asked
        if not space.groups:
            return
        if self.most is not None and not self.limits:
            whole = self.trials.choice(space, space.asked)
            loss = max(0, self.most - (self.asked.cycles if whole is None else whole.cycles))
            for share in SHARES:
                lanes = narrowest(space.groups, counts, self.most, share * loss)
                yield from () if lanes is None else (lanes,)
            return
        fixed = space.area(space.asked) - _sum(space, space.asked)
        spare = {name: most - getattr(fixed, name) for name, most in self.limits.items()}
        for weight in (1.0, 0.1, 10.0):
            lanes = fastest(space.groups, counts, spare, weight)
            yield from () if lanes is None else (lanes,)
        yield tuple(group.widths[0].lanes for group in space.groups)

    def _exchanged(self, best: Choice, space: Space, lanes: Lanes) -> tuple[Choice, Space, Lanes]:
        """Make groups narrower or wider as long as that helps: one alone, or one for another."""
        improved = True
        while improved and monotonic() < self.ends:
            improved = False
            for moved in self._moves(space, lanes):
                if monotonic() > self.ends:
                    break
                if moved == lanes or self._hopeless(space, moved, best):
                    continue
                choice = self.trials.choice(space, moved)
                if choice is not None and self.goal(choice) < self.goal(best):
                    best, lanes, improved = choice, moved, True
        return best, space, lanes

    def _hopeless(self, space: Space, lanes: Lanes, best: Choice) -> bool:
        """Whether the area alone says that ``lanes`` are no better."""
        area = space.area(lanes)
        reached = self.goal(best)[0] == 0
        return reached and (self.over(area) > 0 or (self.most is not None and area.lut_sites >= best.area.lut_sites))

    def _moves(self, space: Space, lanes: Lanes) -> Iterator[Lanes]:
        """Neighbours of ``lanes``: those that save or cost most first, then exchanges of two."""
        order = sorted(range(len(lanes)), key=lambda at: -space.groups[at].width(lanes[at]).area.lut_sites)
        steps = (-1, 1) if self.most is not None else (1, -1)
        single = [_stepped(space, lanes, {at: step}) for step in steps for at in order]
        pairs = [_stepped(space, lanes, {one: -1, other: 1}) for one in order for other in order if one != other]
        further = [_stepped(space, lanes, {at: -2}) for at in order]
        yield from (each for each in (*single, *pairs, *further) if each is not None)

    # -- what is said -------------------------------------------------------------------------------------------

    def _check(self, best: Choice) -> None:
        """Raise `InputError`, with the least that would do, where nothing fits."""
        if self.goal(best)[0] == 0:
            return
        fields = {name: field for name, field in RESOURCES.items() if field in self.limits}
        asked = [f"{name}={self.limits[field]:,.0f}" for name, field in fields.items()]
        least = [f"{name}={getattr(best.area, field):,.0f}" for name, field in fields.items()]
        if self.most is not None:
            asked, least = [*asked, f"cycles={self.most:,}"], [*least, f"cycles={best.cycles:,}"]
        raise InputError(
            f"nothing that was found for {self.program.name} fits {', '.join(asked)}; "
            f"the nearest needs {', '.join(least)}"
        )

    def _given(self, best: tuple[Choice, Space, Lanes]) -> tuple[Given, ...]:
        choice, space, lanes = best
        result = self.trials.run(choice.fabric)
        assert result is not None
        return tuple(
            Given(name, had, mine, result.operators[name].busy, choice.cycles)
            for group, had, mine in zip(space.groups, space.asked, lanes, strict=True)
            for name in group.names
        )

    def _front(self) -> tuple[Choice, ...]:
        by_cost: dict[tuple[int, ...], Choice] = {each.cost: each for each in self.trials.choices}
        return tuple(by_cost[cost] for cost in undominated(by_cost))


def _sum(space: Space, lanes: Lanes) -> Area:
    """The area of what has lanes."""
    return sum((group.width(each).area for group, each in zip(space.groups, lanes, strict=True)), Area())


def _stepped(space: Space, lanes: Lanes, steps: Mapping[int, int]) -> Lanes | None:
    """``lanes`` with groups so many widths further; None beyond the ends."""
    found: list[Any] = list(lanes)
    for at, step in steps.items():
        widths = [each.lanes for each in space.groups[at].widths]
        place = widths.index(lanes[at]) + step
        if not 0 <= place < len(widths):
            return None
        found[at] = widths[place]
    return tuple(found)
