"""Fig. 8 against the published HDL: errors of both timings, and what whole tiles would cost."""

from __future__ import annotations

from pathlib import Path

from experiments.fabric import memories, products
from experiments.fabric.tables import grid
from experiments.fabric.validation import DEPTH, WIDTH
from experiments.published.show.results import FigureRows
from experiments.published.show.validation import correlated, errors, hdl, mean_error, worst
from experiments.rows import Row
from experiments.said import said

SLOWER = 0.05
"""An error from which on the cause is asked for."""


def table(results: Path) -> str:
    """A line per tile size; raises `Missing`."""
    ours, theirs = (errors(FigureRows(results, name)) for name in ("fabric", "published"))
    dram = memories.errors(results).of
    paths = products.CAMPAIGN.by_point(results, "8")
    lines = []
    for point, cycles in hdl().items():
        path = paths.get(point)
        wholes = [f"{_excess(path) / cycles:+.1%}", *(f"{int(path[part]):,}" for part in PARTS)] if path else [""] * 3
        known = (theirs, ours, dram)
        lines.append([point, f"{cycles:,}", *(f"{each[point]:+.1%}" for each in known), *wholes])
    told = (
        *("published timing", "our fabric, ideal memory", f"on DRAM, `{memories.PART}`"),
        *("in whole tiles, ideal memory", "memory on its path", "products"),
    )
    return grid(["tile", "cycles of HDL", *told], lines)


PARTS = ("memory", "products")


def _excess(row: Row) -> int:
    """Cycles that whole tiles take more than HDL."""
    return int(row["cycles"]) - hdl()[row["point"]]


def finding(results: Path) -> str:
    """The distance of both timings from HDL, and the effect of pieces of tiles on ours; raises `Missing`."""
    ours, theirs = (FigureRows(results, name) for name in ("fabric", "published"))
    slower = sum(each > 0 for each in errors(ours).values())
    told = (
        f"**Validation** (Figure 8, {len(hdl())} points of the published HDL). Our cycles are {mean_error(ours):.1%} "
        f"off in the mean and {worst(ours)} at worst, with a correlation of {correlated(ours):.3f}. The published "
        f"timing is {mean_error(theirs):.1%} and {worst(theirs)} off, with {correlated(theirs):.3f}. "
        f"{slower or 'None'} of the points take{'' if slower else 's'} more cycles than HDL. "
        f"{memories.finding(results)}"
    )
    paths = products.CAMPAIGN.read(results, "8")
    return f"{told} {pieces(ours, paths)}" if paths else told


def pieces(ours: FigureRows, paths: list[Row]) -> str:
    """The use of pieces, from the critical path of every tile size with whole tiles."""
    excess = {row["point"]: _excess(row) for row in paths}
    found = {point: cycles / hdl()[point] for point, cycles in excess.items()}
    most = max(paths, key=lambda row: found[row["point"]])
    slow = [row for row in paths if found[row["point"]] >= SLOWER]
    mean = sum(map(abs, found.values())) / len(found)
    share = int(most["products"]) / int(most["cycles"])
    return said(
        f"As HDL does, our program cuts tiles into pieces (weights into {DEPTH} x {WIDTH}), and a piece is multiplied "
        f"while the next one comes. In whole tiles it is {mean:.1%} off, {found[most['point']]:+.0%} at "
        f"{most['point']}, and slower at every tile size: a product adds up all of its sums side by side, and the "
        "words of its result follow each other, so they leave when most of it is done, and what reads them begins "
        "then. At "
        f"{most['point']} products are {int(most['products']):,} cycles of that critical path ({share:.0%}), which is "
        f"{excess[most['point']]:,} cycles longer than HDL takes. At each of the {len(slow)} tile sizes with "
        f"{SLOWER:.0%} more cycles or worse, products on the critical path are more than the excess.",
        all(int(row["products"]) >= excess[row["point"]] for row in slow),
        all(int(row["cycles"]) > ours.number("8", row["point"]) for row in paths),
    )
