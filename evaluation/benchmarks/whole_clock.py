"""Clocks of whole designs, placed and routed on an ECP5, and time by them, with and without registers for speed.

    python -m benchmarks.whole_clock [DESIGN ...] [--fabric plain|fast] [--speed 6] [--seeds 3] [--show]

Every placement is a row of ``whole_clock.csv``; those that it has are not made again, and ``--show`` only prints the
medians. A design with a file in ``fitted`` has the fabric of that: ``step fit PROGRAM --luts 50000 --dsp 156 --ram
208``, as its own does not fit an LFE5U-85F.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from cosim.synthesis.families.ecp5 import SPEEDS, Ecp5
from cosim.synthesis.flow import Flow, MappedDesign
from cosim.synthesis.jobs import Stop
from cosim.synthesis.measure import part_names
from hw.fabric import elaborate
from hw.verilog.convert import ModuleLibrary
from step.lowering.fabric import with_settings
from step.lowering.netlist import lower
from step.programs.files.fitted import FittedFile
from step.programs.program import Program, load_program
from step.running.backend import run

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
RESULTS = FOLDER / "whole_clock.csv"

COLUMNS = "design", "fabric", "speed", "cycles", "sites", "dsp", "block_ram", "seed", "mhz", "path", "ends", "late"
"""``path``: operators and channels on the slowest path, with the registers at its ``ends``; ``late``: the `LATE` parts
with the most cells that are reached after `PERIOD`, and how many."""

PLAIN, FAST = "plain", "fast"

TARGET, PERIOD = 125, 10
"""MHz that nextpnr aims at, and the nanoseconds that are wanted."""

LATE = 8


@dataclass(frozen=True)
class Design:
    """A program among the examples, and the ``settings`` of its fabric that are for speed."""

    program: str
    settings: tuple[str, ...]


NEAR_MEMORIES = "scratchpad_ports=1", "scratchpad_bytes=1024", "page_bytes=256", "block_ram_words=64"
"""Each buffer in a memory of its own, of LUTs: no other one has a say in its place, and no block RAM is read for it."""

DESIGNS = {
    "softmax": Design(
        "softmax.py",
        (
            *("hop=1", "cuts.powers=8", "cuts.quotients=8", "cuts.shifted=6"),
            *("cuts.tile_sum=5", "cuts.sum=5", "cuts.max=5", *NEAR_MEMORIES),
        ),
    ),
    "moe_simple": Design("moe_simple.py", ("hop=1", "stages=8", "block_ram_words=128")),
    "swiglu": Design("swiglu.py", ("hop=1", "stages=6", "cuts.activation=8")),
    "attention": Design(
        "attention.py:small",
        (
            *("hop=1", "stages=6", *(f"cuts.region{at}_{name}=4" for at in range(2) for name in ("product", "part"))),
            *(*NEAR_MEMORIES, "block_ram_words=48"),
        ),
    ),
}


def made(name: str, fabric: str) -> Program:
    """The design on its fitted fabric, with registers for speed where ``fabric`` is `FAST`."""
    design = DESIGNS[name]
    program, fitted = load_program(f"{ROOT}/examples/{design.program}"), FOLDER / "fitted" / f"{name}.json"
    if fitted.exists():
        program = FittedFile.load(fitted).applied(program)
    settings = design.settings if fabric == FAST else ()
    return replace(program, fabric=with_settings(program.fabric, settings))


def mapped(program: Program, family: Ecp5, stop: Stop) -> tuple[MappedDesign, dict[str, str]]:
    """The whole of ``program`` in cells, and the names of the parts of its instances."""
    fabric = elaborate(lower(program.graph, program.fabric))
    library = ModuleLibrary(initial_values=family.initial_values, generic=False)
    library.require_all(fabric.structure)
    return Flow(library.texts(), family.check(), family).netlist(fabric.structure, stop), part_names(fabric)


def placements(name: str, fabric: str, speed: str, seeds: int, known: set[str]) -> Iterator[dict[str, object]]:
    """Rows of the seeds that are not ``known``, as they come."""
    program, family, stop = made(name, fabric), Ecp5(speed=speed, target=TARGET, seeds=seeds), Stop()
    design, labels = mapped(program, family, stop)
    area, cycles = design.area.to_json(), run(program, "approx").cycles
    for seed in family.runs:
        if seed not in known:
            timing = design.time(seed, stop)
            late = timing.late(labels, PERIOD).most_common(LATE)
            yield {
                **{"design": name, "fabric": fabric, "speed": speed, "cycles": cycles, "seed": seed, "mhz": timing.mhz},
                **{"sites": area["comb_sites"], "dsp": area["dsp"], "block_ram": area["block_ram"]},
                **{"path": " > ".join(timing.path(labels)), "ends": " > ".join(timing.ends)},
                "late": ", ".join(f"{part or 'status'} {count}" for part, count in late),
            }


def read() -> list[dict[str, str]]:
    """The rows that there are."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def kept(row: dict[str, object]) -> None:
    """Keep a ``row`` behind those that there are."""
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def shown(rows: list[dict[str, str]]) -> Table:
    """Medians of all seeds, and time over that of the plain fabric."""
    table, times = Table("design", "fabric", "grade", "cycles", "sites", "MHz", "seeds", "time", "slowest path"), {}
    for name, speed, fabric in sorted(set(map(_kind, rows)), reverse=True):  # plain ones first
        own = sorted((row for row in rows if _kind(row) == (name, speed, fabric)), key=_megahertz)
        middle, clock = own[(len(own) - 1) // 2], median(map(_megahertz, own))
        times[name, fabric, speed] = time = int(middle["cycles"]) / clock
        before = times.get((name, PLAIN, speed))
        cells = middle["cycles"], middle["sites"], f"{clock:.1f}", ", ".join(row["mhz"] for row in own)
        table.add_row(name, fabric, speed, *cells, f"{time / before:.2f}" if before else "", middle["path"])
    return table


def _kind(row: dict[str, str]) -> tuple[str, str, str]:
    return row["design"], row["speed"], row["fabric"]


def _megahertz(row: dict[str, str]) -> float:
    return float(row["mhz"])


def main() -> None:
    """Place what is asked for, and print all that there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("designs", nargs="*", metavar="DESIGN", choices=[*DESIGNS, []], default=[])
    parser.add_argument("--fabric", choices=[PLAIN, FAST], action="append")
    parser.add_argument("--speed", choices=SPEEDS, default=SPEEDS[0], help="grade of the part")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    for name in () if given.show else given.designs or DESIGNS:
        for fabric in given.fabric or [PLAIN, FAST]:
            known = {row["seed"] for row in read() if _kind(row) == (name, given.speed, fabric)}
            for row in placements(name, fabric, given.speed, given.seeds, known):
                kept(row)
    Console(width=200).print(shown(read()))


if __name__ == "__main__":
    main()
