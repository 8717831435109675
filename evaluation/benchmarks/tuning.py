"""Share of a front that `step tune` finds in a quarter of the rows.

    python -m benchmarks.tuning [ROWS.csv]

The space: 64 experts of hidden size 2,048, top 8, by batch, rows of a tile (0: dynamic) and regions; 60 points. All of
them run once, and are kept in the file; the searches look their rows up. Told are the hypervolume of the front that was
found, as a part of that of all points (logarithms of costs, from the best of each to 10 % beyond the worst), and the
least of each objective beside that of all, the mean and the worst of ten seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import log
from pathlib import Path
from statistics import fmean

import step
from step_explore.sweeps.axis import Axis
from step_explore.sweeps.front import costs, undominated
from step_explore.sweeps.row import Row
from step_explore.sweeps.search import Search
from step_explore.sweeps.surrogate import hypervolume
from step_models import moe, sampled_routing

OVER = {"batch": [32, 256], "rows": [0, 4, 8, 16, 32, 64], "regions": [64, 32, 16, 8, 4]}
SEEDS, TOGETHER = 10, 2


def program(batch: int = 32, rows: int = 8, regions: int = 64) -> step.Program:
    """The question: which tiles, and how many regions?"""
    routing = sampled_routing(batch, experts=64, experts_per_token=8, skew=1.0, seed=0)
    return moe.program(
        routing, experts=64, hidden=2048, inner=1024, rows=rows or None, columns=64,
        regions=None if regions == 64 else regions, values=False,
    )  # fmt: skip


def searched(table: Sequence[Row], axes: Sequence[Axis], objectives: Sequence[str], count: int, seed: int) -> list[Row]:
    """The rows of a search for ``count`` points."""
    search, found = Search(axes, objectives, seed), list[Row]()
    while points := search.ask(min(TOGETHER, count - len(found))):
        rows = [row for point in points for row in table if row.point == point]
        search.tell(rows)
        found += rows
    return found


def compare(table: Sequence[Row], axes: Sequence[Axis], objectives: Sequence[str], count: int) -> str:
    """A line on searches for ``count`` points."""
    known = [cost for row in table if (cost := costs(row, objectives)) is not None]
    least, most = ([choose(column) for column in zip(*known, strict=True)] for choose in (min, max))

    def volume(rows: Sequence[Row]) -> float:
        there = [cost for row in rows if (cost := costs(row, objectives)) is not None]
        places = [
            tuple(log(each / low) / log(high / low) for each, low, high in zip(cost, least, most, strict=True))
            for cost in there
        ]
        return hypervolume(places, [1.1] * len(objectives))

    runs = [searched(table, axes, objectives, count, seed) for seed in range(SEEDS)]
    parts = [volume(rows) / volume(table) for rows in runs]
    bests = [
        max(min(getattr(row, name) for row in rows) / low for rows in runs)
        for name, low in zip(objectives, least, strict=True)
    ]
    worst = ", ".join(f"{name} {each:.3f}" for name, each in zip(objectives, bests, strict=True))
    return (
        f"{', '.join(objectives)}: {count} of {len(table)} rows, front of {len(undominated(known))}: hypervolume "
        f"{100 * fmean(parts):.1f} % (worst seed {100 * min(parts):.1f} %); worst of the least: {worst}"
    )


def main() -> None:
    """Print a line for each pair of objectives."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    found = step.sweep(program, OVER, save=path, progress=lambda text: print(text, file=sys.stderr))
    for objectives in (("cycles", "on_chip_bytes"), ("cycles", "lut_sites"), ("cycles", "channel_bytes")):
        print(compare(found.rows, found.axes, objectives, len(found.rows) // 4))


if __name__ == "__main__":
    main()
