"""Fig. 8 against HDL: how far our cycles are from it, and what of them products take."""

from __future__ import annotations

from pathlib import Path

from experiments.fabric import products
from experiments.fabric.tables import grid
from experiments.published.show.results import Results
from experiments.published.show.validation import correlated, errors, hdl, mean_error, worst
from experiments.rows import Row
from experiments.said import said

SLOWER = 0.05
"""An error from which on the cause is asked for."""


def table(results: Path) -> str:
    """A line per tile size; raises `Missing`."""
    ours, theirs = (errors(Results(results, name)) for name in ("fabric", "published"))
    paths = {row["point"]: row for row in products.CAMPAIGN.read(results, "8")}
    lines = [
        [
            point,
            f"{cycles:,}",
            f"{theirs[point]:+.1%}",
            f"{ours[point]:+.1%}",
            *(f"{int(paths[point][part]):,}" if point in paths else "" for part in ("memory", "products")),
        ]
        for point, cycles in hdl().items()
    ]
    names = ["tile", "cycles of HDL", "published timing", "our fabric", "memory on our critical path", "products"]
    return grid(names, lines)


def finding(results: Path) -> str:
    """How far both timings are from HDL, and why ours is; raises `Missing`."""
    ours, theirs = (Results(results, name) for name in ("fabric", "published"))
    told = (
        f"**Validation** (Figure 8, {len(hdl())} points of the published HDL). Our cycles are {mean_error(ours):.1%} "
        f"off in the mean and {worst(ours)} at worst, with a correlation of {correlated(ours):.3f}. The published "
        f"timing is {mean_error(theirs):.1%} and {worst(theirs)} off, with {correlated(theirs):.3f}. "
        f"{sum(each > 0 for each in errors(ours).values())} of the points take more cycles than HDL."
    )
    paths = products.CAMPAIGN.read(results, "8")
    return f"{told} {cause(ours, paths)}" if paths else told


def cause(ours: Results, paths: list[Row]) -> str:
    """What makes ours slower than HDL, from the critical path of every tile size."""
    found, beyond = errors(ours), {}
    for row in paths:
        beyond[row["point"]] = int(row["cycles"]) - hdl()[row["point"]]
    slow = [row for row in paths if found[row["point"]] >= SLOWER]
    most = max(paths, key=lambda row: found[row["point"]])
    share = int(most["products"]) / int(most["cycles"])
    return said(
        "The cause: a product adds up all of its sums side by side, and the words of its result follow each other, so "
        "they leave when most of it is done, and what reads them begins then. With few tiles nothing hides that. At "
        f"{most['point']} products are {int(most['products']):,} cycles of our critical path ({share:.0%}), and we "
        f"take {beyond[most['point']]:,} more than HDL. At each of the {len(slow)} tile sizes with {SLOWER:.0%} more "
        "cycles or worse, products on the critical path are more than the excess.",
        all(int(row["products"]) >= beyond[row["point"]] for row in slow),
        all(int(row["cycles"]) == ours.number("8", row["point"]) for row in paths),
    )
