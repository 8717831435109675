"""What `step fit` finds beside random choices of the same widths, links and memories.

    python -m benchmarks.fit [PROGRAM] [--choices 2000] [--seed 0]

Random choices take any option of every kind of unit (or of every unit, for half of them). Most lose more cycles than
may be lost; of the others the smallest one counts.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from time import perf_counter

from step.fitting.choices import Chosen, Space, fabrics
from step.fitting.fitting import fit
from step.fitting.trials import Choice, Trials
from step.host.progress import silent
from step.lowering.netlist import lower
from step.programs.prepare import open_program

LOSS = 0.05


def chosen(space: Space, source: random.Random) -> Chosen:
    """A random option of every unit: those that are alike have the same one, or each has its own."""
    if source.random() < 0.5:
        return tuple(source.randrange(len(unit.options)) for unit in space.units)
    found = list(space.asked)
    for group in space.alike:
        place = source.randrange(len(space.units[group[0]].options))
        for at in group:
            found[at] = place
    return tuple(found)


def tried(trials: Trials, most: int, count: int, seed: int) -> Iterator[Choice]:
    """Random choices with at most so many cycles."""
    source = random.Random(seed)
    spaces = [Space.of(lower(trials.program.graph, each)) for each in fabrics(trials.program.fabric)]
    for _ in range(count):
        space = source.choice(spaces)
        choice = trials.choice(space, chosen(space, source))
        if choice is not None and choice.cycles <= most:
            yield choice


def main() -> None:
    """Print what both find."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default="examples/moe_mixtral.py")
    parser.add_argument("--choices", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    program = open_program(asked.program)
    begin = perf_counter()
    found = fit(program, within=LOSS)
    print(
        f"step fit: {found.best.area.lut_sites:,.0f} LUT sites, {found.best.cycles:,} cycles, "
        f"{found.runs:,} runs in {perf_counter() - begin:.0f} s"
    )
    most = int(found.asked.cycles * (1 + LOSS))
    choices = list(tried(Trials(program, silent), most, asked.choices, asked.seed))
    print(f"random: {len(choices):,} of {asked.choices:,} choices take at most {most:,} cycles", end="")
    if choices:
        best = min(choices, key=lambda each: each.area.lut_sites)
        print(f"; the smallest has {best.area.lut_sites:,.0f} LUT sites, {best.cycles:,} cycles", end="")
    print()


if __name__ == "__main__":
    main()
