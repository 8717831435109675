"""Results of `step fit` beside random choices: its neighbours, or any of the same widths, links and memories.

    python -m benchmarks.fit [PROGRAM] [--choices 2000] [--seed 0] [--minutes 15] [--anywhere]

A neighbour has one to four random changes: of a unit, or of all that are alike, the lanes become a few steps more or
fewer, or all that are alike get other links. Of those with at most the cycles of what was found the smallest one
counts. With ``--anywhere`` choices take any option of every kind of unit (or of every unit, for half of them), and may
take as many cycles as the fit may.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Iterator
from time import process_time

from sim_approx.simulator import Simulator
from step.host.progress import silent
from step.lowering.netlist import lower
from step.programs.prepare import open_program
from step_explore.fitting.fitter import Fitter
from step_explore.fitting.fitting import RUNS, asked_for
from step_explore.fitting.goal import Goal
from step_explore.fitting.space import Places, Space, fabrics
from step_explore.fitting.trials import Choice, Trials

LOSS = 0.05

CHANGES, STEPS = 4, 3
"""The most changes of a neighbour, and the most steps of one of them."""


def anywhere(space: Space, source: random.Random) -> Places:
    """A random option of every unit: those that are alike have the same one, or each has its own."""
    if source.random() < 0.5:
        return tuple(source.randrange(len(unit.options)) for unit in space.units)
    found = list(space.asked)
    for group in space.alike:
        place = source.randrange(len(space.units[group[0]].options))
        for at in group:
            found[at] = place
    return tuple(found)


def neighbour(space: Space, chosen: Places, source: random.Random) -> Places:
    """``chosen`` with random changes."""
    found = list(chosen)
    for _ in range(source.randint(1, CHANGES)):
        group, steps = source.choice(space.alike), source.choice([-1, 1]) * source.randint(1, STEPS)
        links = source.random() < 0.3
        for at in group if links or source.random() < 0.5 else [source.choice(group)]:
            found[at] = space.units[at].stepped(found[at], *((0, steps) if links else (steps, 0)))
    return tuple(found)


def neighbours(trials: Trials, found: Choice, source: random.Random) -> Iterator[Choice | None]:
    """Runs of random neighbours of ``found``, each of them once."""
    assert found.space is not None
    while True:
        moved, known = neighbour(found.space, found.places, source), len(trials.known)
        choice = trials.choice(found.space, moved)
        if len(trials.known) > known:
            yield choice


def anything(trials: Trials, source: random.Random) -> Iterator[Choice | None]:
    """Runs of random choices."""
    spaces = [Space.of(lower(trials.program.graph, each)) for each in fabrics(trials.program.fabric)]
    while True:
        space = source.choice(spaces)
        yield trials.choice(space, anywhere(space, source))


def main() -> None:
    """Print what both find."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default="examples/moe_mixtral.py")
    parser.add_argument("--choices", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--anywhere", action="store_true")
    given = parser.parse_args()
    Simulator(given.program, engine="compiled").attempt()  # an engine is made once
    began = process_time()
    trials = Trials(open_program(given.program), silent)
    asked = asked_for(trials)
    goal = Goal({}, math.floor(asked.cycles * (1 + LOSS)))
    best, source = Fitter(trials, goal).best(asked, RUNS), random.Random(given.seed)
    print(
        f"step fit, with depths as they are: {best.area.lut_sites:,.0f} LUT sites, {best.cycles:,} cycles, "
        f"{len(trials.known):,} runs in {process_time() - began:.0f} s of the processor",
        flush=True,
    )
    fresh, began = Trials(trials.program, silent), process_time()
    runs = anything(fresh, source) if given.anywhere else neighbours(fresh, best, source)
    most, tried, fast = goal.cycles if given.anywhere else best.cycles, 0, list[Choice]()
    while tried < given.choices and process_time() - began < 60 * given.minutes:
        choice = next(runs)
        tried += 1
        if choice is not None and choice.cycles <= (most or 0):
            fast.append(choice)
    print(f"random: {len(fast):,} of {tried:,} choices take at most {most:,} cycles", end="")
    if fast:
        least = min(fast, key=lambda each: each.area.lut_sites)
        smaller = sum(each.area.lut_sites < best.area.lut_sites for each in fast)
        print(f", {smaller:,} of them less area; the smallest has {least.area.lut_sites:,.0f} LUT sites", end="")
        print(f" ({least.area.lut_sites / best.area.lut_sites - 1:+.2%}), {least.cycles:,} cycles", end="")
    print()


if __name__ == "__main__":
    main()
