"""Builds of the simulator for short runs against those for long ones, on random programs.

    python -m benchmarks.build_speed [--count N] [--seed S]

Builds N random programs side by side in both ways, in a cache of its own, and prints seconds of CPU of the build with
its run, which is some hundred cycles long. Machines differ and are noisy: quote the ratio.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from functools import partial

from cosim.backend import run
from cosim.building.compiling import NO_OPTIMIZATION, OPTIMIZATION, Common
from cosim.building.toolchain import find_toolchain
from hw.design.emit import emit
from step.language.graph import Graph
from step.lowering.netlist import lower
from step_check.fuzz.farm import side_by_side
from step_check.fuzz.program import build, fabric


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    graph, inputs = side_by_side("random", [partial(inputs_of, each) for each in seeds])
    config = fabric(arguments.seed, roomy=True)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["STEP_CACHE"] = cache
        for flags in (OPTIMIZATION, NO_OPTIMIZATION):
            Common(find_toolchain(), flags).runtime()
        emit(lower(graph, config), probes=True)
        taken = []
        for optimize, flags in ((True, OPTIMIZATION), (False, NO_OPTIMIZATION)):
            before = cpu_of_tools()
            result = run(graph, inputs, config, optimize=optimize)
            taken.append(cpu_of_tools() - before)
            print(f"{flags}: {taken[-1]:.0f} s for {len(graph.nodes)} operators, {result.cycles:,} cycles")
        print(f"ratio {taken[0] / taken[1]:.2f}")


def inputs_of(seed: int, graph: Graph) -> dict[str, object]:
    """Put the program of ``seed`` into ``graph``, with space for everything."""
    return build(seed, graph, roomy=True).inputs


def cpu_of_tools() -> float:
    """Seconds of CPU of the processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
