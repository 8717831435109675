"""The page about our fabric, made of the result files."""

from __future__ import annotations

from pathlib import Path
from statistics import correlation

from experiments import queues
from experiments.fabric import balance, explained
from experiments.fabric.figures import FIGURES
from experiments.fabric.record import CAMPAIGN
from experiments.fabric.tables import grid, mean_gains, seconds, table
from experiments.published.show.results import Results, told
from experiments.rows import Row, read

WORDS = {
    "8": "The graph of the published validation, on a fabric with 64 scalars a cycle on a link, from memory to a load,"
    " and of all memory, as the published timing has; there scalars have four bytes, here two, so bytes are half as"
    " many. The hardware is read off the paper's plot.",
    "9": "Figure 19 shows the bytes of the same points.",
    "10": "Figure 20 shows the bytes of the same points.",
    "12": "Figure 13 shows the bytes of the same points. Use of compute: of 1024 operations a cycle for five operators"
    " a region, one an expert, and a sum, as the paper counts; SiLU counts once a scalar.",
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
    if means := told(lambda: mean_gains(Results(results, "fabric"))):
        parts += ["Geometric means of three batches each, as the paper's figure has them:", means]
    parts += ["## Seconds", seconds(results)]
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
    """Why dynamic regions do not beat turns in Fig. 15."""
    rows = queues.CAMPAIGN.read(results, "15")
    ours = {row["point"]: int(row["cycles"]) for row in CAMPAIGN.read(results, "15")}
    if not rows or not ours:
        return []
    gains = queues.gains(rows)
    lines = []
    for batch in queues.BATCHES:
        turns, fewest = balance.most_tiles(queues.lengths(batch))
        here = ours[f"B={batch} interleaved"] / ours[f"B={batch} dynamic"]
        bound = TILE_CYCLES * turns / ours[f"B={batch} interleaved"]
        depths = [f"{gains[batch, depth]:.2f}" for depth in queues.DEPTHS]
        lines.append([f"B={batch}", *depths, f"{here:.2f}", f"{turns / fewest:.2f}", f"{turns:,}", f"{bound:.0%}"])
    depths = [f"published, depth {depth}" for depth in queues.DEPTHS]
    table = grid(["batch", *depths, "ours", "tiles", "most tiles by turns", "their words, of the cycles"], lines)
    return ["## Why dynamic regions do not beat turns in Figure 15", TURNS, table, *_balance(results)]


def _balance(results: Path) -> list[str]:
    """How well the tiles alone tell what dynamic regions gain."""
    found = {timing: list(balance.gains(results, timing)) for timing in ("fabric", "published")}
    if any(len(each) < 3 for each in found.values()):
        return []
    told = {timing: correlation(*zip(*each, strict=True)) for timing, each in found.items()}
    return [
        f"So it is in all {len(found['fabric'])} batches of Figures 14 and 21: what dynamic regions gain against turns"
        f" goes with how much better they spread the tiles, with a correlation of {told['fabric']:.3f} on our fabric"
        f" and of {told['published']:.3f} on the published timing, in which a queue decides instead."
    ]


TILE_CYCLES = 64
"""That a tile of keys or values is on its way over a link."""

TURNS = """\
In the published timing turns are slow because its channels hold one element. A region that is busy does not take its
next request, so that one waits in front of all regions, and those behind it have nothing to do; dynamic regions ask
for work, so nobody is in the way. With a second element in each channel most of that is gone, with four all of it,
and what is left is what our fabric shows, whose channels have two slots at least. Here the region that gets most
tiles sets the pace: the 4,096 bytes of a tile take 64 cycles on a link, and `step explain` finds the units that read
them at work from the first request to the last. By turns this trace spreads its tiles as evenly as if each request
went to the region with the fewest so far (`tiles`: the most that a region gets by turns, over the most then). And a
dynamic region begins with a request when the keys of the one before have been read, so that addresses and memory take
their time again (more beats and latency on the critical path above), while by turns the next request waits in front
of the region.

Cycles by turns over those of dynamic regions:"""


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
