"""The page about our fabric, made of the result files."""

from __future__ import annotations

from pathlib import Path

from experiments import queues
from experiments.fabric import explained
from experiments.fabric.figures import FIGURES
from experiments.fabric.record import CAMPAIGN
from experiments.fabric.tables import grid, mean_gains, table
from experiments.rows import Row, read

WORDS = {
    "8": "The graph of the published validation, on a fabric with 64 scalars a cycle on a link, from memory to a load,"
    " and of all memory, as the published timing has; there scalars have four bytes, here two, so bytes are half as"
    " many. The hardware is read off the paper's plot.",
    "9": "Figure 19 shows the bytes of the same points.",
    "10": "Figure 20 shows the bytes of the same points.",
    "12": "Figure 13 shows the bytes of the same points. Use of compute: of 1024 operations a cycle for five operators"
    " a region, one an expert, and a sum, as the paper counts; SiLU counts once a scalar. Dynamic tiles have an expert"
    " each as their region: tiles of different dynamic sizes can not take turns.",
    "14": "64 requests. Turns are the paper's interleaved arrangement.",
    "15": "The first requests of trace 4007.",
    "17": "One decoder layer with the measured routing, all KV heads at their true size, scaled and with online"
    " softmax; the paper's graph is not published.",
    "21": "16 and 80 requests; those of 64 are in Figure 14.",
}


def page(results: Path) -> str:
    """All figures, then what limits them, and what is missing."""
    parts = [Path(__file__).with_name("introduction.md").read_text().rstrip()]
    for figure in FIGURES:
        if CAMPAIGN.read(results, figure):
            parts += [f"## Figure {figure}", WORDS[figure], table(figure, results)]
    if CAMPAIGN.read(results, "21"):
        means = mean_gains([*CAMPAIGN.read(results, "14"), *CAMPAIGN.read(results, "21")])
        parts += ["Geometric means of three batches each, as the paper's figure has them:", means]
    parts += _limits(read(results / explained.FILE, explained.COLUMNS))
    parts += _turns(results)
    parts += _missing(results)
    return "\n\n".join(parts) + "\n"


def _limits(rows: list[Row]) -> list[str]:
    """What `step explain` says of the best and the worst points."""
    if not rows:
        return []
    names = ("figure", "point", "cycles", "weights", "cycles, explained", "use of bandwidth", "along the critical path")
    lines = [
        [
            row["figure"],
            row["point"],
            f"{int(row['cycles']):,}",
            row["weights"],
            f"{int(row['explained_cycles']):,}",
            f"{float(row['memory']):.0%}",
            row["limits"],
        ]
        for row in rows
    ]
    words = (
        "What [`step explain`](explain.md) says of the fastest and the slowest point of those that do the same work; of"
        " attention, of turns and dynamic regions where the latter gain most and least. A mixture of experts moves too"
        " many beats for each to be recorded, so one with smaller weights is explained in its place. A `*` stands for"
        " any region or expert."
    )
    return ["## What limits the best and the worst points", words, grid(names, lines)]


def _turns(results: Path) -> list[str]:
    """Why dynamic regions do not beat turns here."""
    rows = queues.CAMPAIGN.read(results, "15")
    ours = {row["point"]: int(row["cycles"]) for row in CAMPAIGN.read(results, "15")}
    if not rows or not ours:
        return []
    gains = queues.gains(rows)
    lines = []
    for batch in queues.BATCHES:
        turns, fewest = queues.most_tiles(batch)
        here = ours[f"B={batch} interleaved"] / ours[f"B={batch} dynamic"]
        lines.append(
            [
                f"B={batch}",
                *(f"{gains[batch, depth]:.2f}" for depth in queues.DEPTHS),
                f"{here:.2f}",
                f"{turns:,}",
                f"{fewest:,}",
                f"{64 * turns / ours[f'B={batch} interleaved']:.0%}",
            ]
        )
    names = [
        "batch",
        *(f"published, depth {depth}" for depth in queues.DEPTHS),
        "ours",
        "most tiles, turns",
        "most tiles, emptiest first",
        "64 cycles a tile, of ours",
    ]
    words = """\
In the published timing turns are slow because its channels hold one element. A region that is busy does not take its
next request, so the one in front of all regions waits, and regions behind it have nothing to do; dynamic regions ask
for work, so nobody is in the way. With a second element in each channel most of that is gone, with four all of it, and
what is left is what our fabric shows, whose channels have at least two slots and whose requests are four numbers on
their way to a region. There the region that gets most tiles sets the pace, 64 cycles for the 4,096 bytes of a tile on a
link, from the first request to the last. The lengths of this trace are so mixed that turns spread tiles as evenly as
giving each request to the emptiest region does, and a dynamic region begins with a request only when the keys of the
one before have been read: addresses and memory then take their time again, which turns have hidden in a queue."""
    head = "Cycles of turns over those of dynamic regions, Figure 15:"
    return ["## Why dynamic regions do not beat turns here", words, head, grid(names, lines)]


def _missing(results: Path) -> list[str]:
    """Points without results."""
    lines = []
    for figure, points in FIGURES.items():
        there = {row["point"] for row in CAMPAIGN.read(results, figure)}
        names = [point.name for point in points()]
        missing = [name for name in names if name not in there]
        if missing:
            shown = ", ".join(missing) if len(missing) <= 8 else f"{len(missing)} of {len(names)} points"
            lines.append(f"- Figure {figure}: {shown}")
    return ["## Not run yet", "\n".join(lines)] if lines else []
