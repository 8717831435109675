"""Hardware as wide as its rates need: the least area within a loss of cycles, or the fewest cycles within an area."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from step.errors import EnvironmentProblem, InputError
from step.host.progress import Progress, silent
from step.language.parameters import Within, settled
from step.lowering.fabric import FabricConfig
from step.lowering.machines import MACHINES
from step.programs.prepare import Openable, open_program
from step.programs.program import Program
from step_explore.fitting.depths import shallower
from step_explore.fitting.fitter import Fitter
from step_explore.fitting.goal import MOST_LOSS, Goal
from step_explore.fitting.result import Fitted, widths
from step_explore.fitting.trials import Choice, Trials
from step_explore.sweeps.front import undominated

RESOURCES = {"luts": "lut_sites", "dsp": "multipliers", "ram": "block_rams"}
"""The field of `step_explore.areas.Area` that each part of a budget is about."""

PARTS = {"luts": {"luts": 1}, "dsp": {"dsps": 1}, "ram": {"block_rams": 2, "ultra_rams": 16}}
"""The parts of a machine that are the budget of a fit, each so many of what `Area` counts."""

RUNS = 200
"""Choices that are tried from the best candidate on."""


def fit(
    program: Openable,
    *,
    within: float | None = None,
    luts: int | None = None,
    dsp: int | None = None,
    ram: int | None = None,
    cycles: int | None = None,
    mhz: float | None = None,
    fabric: FabricConfig | None = None,
    runs: int = RUNS,
    progress: Progress = silent,
) -> Fitted:
    """Hardware for ``program``: lanes of operators, the width of links, the kind of memories and depths of channels.

    Of all that loses at most the part ``within`` of the cycles the least area is taken; or, within a budget, the fewest
    cycles, and with ``cycles`` the least area. Areas are those of `step_explore.areas`, cycles those of the fast model,
    which runs every choice: those of integer programs, and up to ``runs`` from the best of these on.

    ``program``: a `Program`, a `Graph` or the name of a file.
    ``within``: part of the cycles that may be lost, 0.05 for 5 %.
    ``luts``: LUT sites at most.
    ``dsp``: multipliers at most.
    ``ram``: block RAMs at most.
    ``cycles``: cycles at most.
    ``mhz``: clock that each unit has alone, on an ECP5: hops and stages as `step synth --mhz` finds them, in cycles and
    areas too. Takes Yosys and nextpnr, and minutes a unit.
    ``fabric``: a `FabricConfig` in the place of the program's own. Without ``within`` its machine is the budget.
    ``runs``: runs of neighbours of the best choice.
    ``progress``: told what is going on.

    Raises `InputError` for a budget that nothing fits, with the nearest that was found, for a clock that a unit does
    not reach, and where the program does not run on its own fabric. Needs SciPy.

    >>> found = step.fit(program, within=0.05)
    >>> found.loss <= 0.05, found.best.area.lut_sites <= found.asked.area.lut_sites
    (True, True)
    """
    opened, budget = open_program(program, fabric=fabric), {"luts": luts, "dsp": dsp, "ram": ram}
    if within is None:
        budget = {name: each for name, each in budget.items() if each is not None}
        budget = {**_parts(opened.fabric.machine), **budget}
    limits = _limits(within, budget, cycles)
    check_scipy("a fit")
    trials = Trials(opened, progress)
    asked = asked_for(trials)
    goal = Goal(limits, cycles if within is None else math.floor(asked.cycles * (1 + within)))
    settled(runs, Annotated[int, Within(0, math.inf)], "runs", InputError)
    if mhz is None:
        return _fitted(trials, goal, runs)
    from step_explore.fitting.clocked import at_clock  # loads all hardware

    found = at_clock(opened, mhz, lambda each: _fitted(Trials(each, progress), goal, runs), progress)
    return replace(found, asked=asked)


def _fitted(trials: Trials, goal: Goal, runs: int) -> Fitted:
    """The best that reaches ``goal``."""
    asked = asked_for(trials)
    best = Fitter(trials, goal).best(asked, runs)
    _check(trials.program, goal, best)
    fitted, ran = shallower(trials, best, goal), trials.run(best.fabric)
    assert ran is not None
    costs = {each.cost: each for each in (*trials.choices, fitted)}
    front = tuple(costs[cost] for cost in undominated(costs))
    return Fitted(trials.program, asked, fitted, widths(best, ran), front, len(trials.known))


def _parts(machine: str | None) -> dict[str, int | None]:
    """The budget that a machine is; none of a chip."""
    there = {} if machine is None else MACHINES[machine].parts
    return {name: sum(count * there[part] for part, count in kinds.items()) for name, kinds in PARTS.items() if there}


def _limits(within: float | None, budget: Mapping[str, int | None], cycles: int | None) -> dict[str, float]:
    """The budget by the names of resources; raises `InputError` where there is nothing to reach, or too much."""
    given = {name: each for name, each in budget.items() if each is not None}
    for name, each in given.items():
        settled(each, Annotated[int, Within(0, math.inf)], name, InputError)
    if cycles is not None:
        settled(cycles, Annotated[int, Within(1, math.inf)], "cycles", InputError)
    if within is not None:
        settled(within, Annotated[float, Within(0, MOST_LOSS)], "within", InputError)
        if given or cycles is not None:
            raise InputError("a fit is within a loss of cycles or within an area, not both; give within, or a budget")
    elif not given and cycles is None:
        raise InputError("a fit needs a goal: within=0.05, or a budget of luts, dsp, ram or cycles")
    return {RESOURCES[name]: float(each) for name, each in given.items()}


def check_scipy(what: str) -> None:
    """Raise `EnvironmentProblem` for ``what`` where SciPy is not installed."""
    try:
        import scipy.optimize  # noqa: F401
    except ImportError:
        raise EnvironmentProblem(f"{what} needs SciPy; install step-fabric[fit]") from None


def asked_for(trials: Trials) -> Choice:
    """The program on its own fabric; raises `InputError` where it does not run there."""
    found = trials.on(trials.program.fabric)
    if found is None:
        raise InputError(f"{trials.program.name} does not run on its own fabric: step run --backend approx says why")
    return found


def _check(program: Program, goal: Goal, best: Choice) -> None:
    """Raise `InputError`, with the least that would do, where nothing fits."""
    limits = goal.limits
    if goal.misses(best) == 0:
        return
    known = [(name, limits[each], getattr(best.area, each)) for name, each in RESOURCES.items() if each in limits]
    known += [] if goal.cycles is None else [("cycles", goal.cycles, best.cycles)]
    asked = ", ".join(f"{name}={most:,.0f}" for name, most, _ in known)
    least = ", ".join(f"{name}={needed:,.0f}" for name, _, needed in known)
    raise InputError(f"nothing that was found for {program.name} fits {asked}; the nearest needs {least}")
