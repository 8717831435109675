"""Choices of FIFO depths run per second, and the time to size moe_mixtral.

python benchmarks/fifo_sizes.py [PROGRAM] [--choices 1000]
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import step
from step.lowering.netlist import lower
from step_explore.sweeps.processes import cores

MIXTRAL = Path(__file__).parents[2] / "examples" / "moe_mixtral.py"


def main() -> None:
    """Random depths between 2 and those asked for; some of them deadlock."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", nargs="?", default=str(MIXTRAL))
    parser.add_argument("--choices", type=int, default=1000)
    arguments = parser.parse_args()
    draw = random.Random(0)
    started = time.perf_counter()
    simulator = step.Simulator(arguments.program, engine="compiled")
    channels = lower(simulator.program.graph, simulator.program.fabric).channels
    choices = [
        {"depths": {each.name: draw.randint(2, max(4, each.depth)) for each in channels}}
        for _ in range(arguments.choices)
    ]
    ready = time.perf_counter()
    runs = [run.result for run in simulator.attempts(choices, threads=cores())]
    seconds = time.perf_counter() - ready
    ends = {status: sum(each.status == status for each in runs) for status in {each.status for each in runs}}
    print(f"{simulator.program.name}: {len(channels)} channels, ready in {ready - started:.2f} s, {cores()} cores")
    print(f"{len(runs):,} choices of depths in {seconds:.2f} s, {len(runs) / seconds:,.0f} a second: {ends}")
    started = time.perf_counter()
    found = step.size_fifos(simulator.program)
    seconds = time.perf_counter() - started
    print(f"{found}, by {found.runs:,} choices in {seconds:.2f} s")


if __name__ == "__main__":
    main()
