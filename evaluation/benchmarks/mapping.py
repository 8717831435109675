"""Gains of `step map` on imported layers, and its loss against a search that leaves nothing out.

    python -m benchmarks.mapping [LAYER ...] [--exhaustive] [--luts 600000]

Of each layer (a .pt2 file of tests/step_torch/captured): the import with its defaults, and the mapping with at most
the same LUT sites. With ``--exhaustive`` every choice, also those that the mapping drops, gets links for every unit,
runs of its neighbours and less deep channels; ``--luts`` is another budget for both. Times are of the processor.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time

import step_torch
from sim_approx.simulator import Simulator
from step.errors import ProgramError
from step.host.progress import silent
from step.lowering.netlist import lower
from step_explore.areas import area_of
from step_explore.fitting.fitter import Fitter
from step_explore.fitting.goal import Goal
from step_explore.fitting.trials import Trials
from step_explore.sweeps.axis import Point, grid, named
from step_explore.tuning.budget import AREA
from step_torch.mapped import RUNS
from step_torch.tilings import Tilings

CAPTURED = Path(__file__).parents[2] / "tests" / "step_torch" / "captured"

LAYERS = ("llama_prefill", "gpt2_prefill", "gemma_decode")


def exhaustive(path: Path, luts: float) -> tuple[int, Point, int]:
    """The fewest cycles of all choices, which one has them, and how many there are."""
    tilings = Tilings(path)
    points = grid(tilings.axes({}))
    found = list[tuple[int, str, Point]]()
    for point in points:
        try:
            fitter = Fitter(Trials(tilings.program(point), silent), Goal({AREA: luts}))
            rough = fitter.rough()
        except ProgramError:
            continue
        if rough is not None:
            choice = fitter.finished(fitter.linked(rough), RUNS)
            found.append((choice.cycles, named(point), point))
    cycles, _, point = min(found)
    return cycles, point, len(points)


def main() -> None:
    """Print a line for every layer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layers", nargs="*", default=LAYERS, metavar="LAYER")
    parser.add_argument("--exhaustive", action="store_true")
    parser.add_argument("--luts", type=float)
    given = parser.parse_args()
    for name in given.layers:
        path = CAPTURED / f"{name}.pt2"
        program = step_torch.load(path).program
        cycles = Simulator(program, engine="compiled").attempt().result.cycles
        sites = area_of(lower(program.graph, program.fabric)).lut_sites
        luts = given.luts or sites
        began = process_time()
        mapped = step_torch.map(path, luts=luts)
        best = mapped.best()
        assert best.cycles is not None
        print(
            f"{name}: defaults {cycles:,} cycles, {sites:,.0f} LUT sites; mapped {best.cycles:,} cycles "
            f"({cycles / best.cycles:.2f} times fewer), {best.lut_sites:,} LUT sites, {named(best.point)}; "
            f"{mapped.choices} choices in {process_time() - began:.0f} s",
            flush=True,
        )
        if given.exhaustive:
            began = process_time()
            least, point, count = exhaustive(path, luts)
            print(
                f"  exhaustive: {least:,} cycles, {named(point)}; {count} choices in {process_time() - began:.0f} s; "
                f"the mapping takes {best.cycles / least - 1:+.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
