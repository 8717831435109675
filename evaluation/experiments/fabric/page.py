"""The page about our fabric, made of the result files."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.fabric import explained, interleaving, memories, on_dram, scheduling, validated
from experiments.fabric.figures import FIGURES, SHOWN
from experiments.fabric.record import CAMPAIGN
from experiments.fabric.tables import grid, mean_gains, seconds, table
from experiments.fabric.validation import DEPTH, MATCHED, WIDTH
from experiments.published.moe import DYNAMIC
from experiments.published.show.multiplexing import OPERATORS
from experiments.published.show.results import FigureRows, told
from experiments.queues import TRACE
from experiments.rows import Row, read
from experiments.said import filled, listed, said
from step_models.fabrics import PUBLISHED

SCALARS = MATCHED.link_bytes // 2
"""A cycle on a link of the validation."""
OPERATIONS = {"9": 4096, "10": 4096, "17": 4096, "12": 1024, "14": 2048, "15": 2048, "21": 2048}
"""A cycle of a unit, by figure."""


def _words(figure: str) -> str:
    """A note on a figure."""
    bytes_shown = "".join(
        f"Figure {name} shows the bytes of the same points." for name, other in SHOWN.items() if other == figure
    )
    return {
        "8": f"The graph of the published validation, on a fabric with {SCALARS} scalars a cycle on a link, from memory"
        " to a load, and of all memory, as the published timing has; there scalars have four bytes, here inputs have"
        f" two. This memory is ideal: {MATCHED.memory.channels} channels of {MATCHED.memory.beat_bytes} bytes every"
        f" {MATCHED.memory.interval} cycles, {MATCHED.memory.latency} cycles later, without rows, banks and refresh."
        f" Tiles come in pieces, weights in {DEPTH} x {WIDTH}, and rows of the batch are read again from the chip:"
        " what moves off chip is that of whole tiles.",
        "9": bytes_shown,
        "10": bytes_shown,
        "12": f"{bytes_shown} Use of compute: of {OPERATIONS['12']} operations a cycle for {OPERATORS} operators a"
        " region, one an expert, and a sum, as the paper counts; SiLU counts once a scalar.",
        "14": f"{BATCH} requests.",
        "15": "The first requests of the batch that the paper takes, `" + TRACE.rpartition("/")[2] + "`.",
        "17": "One decoder layer with the measured routing, all KV heads at their true size, scaled and with online"
        " softmax. The published figure is not reproducible: no graph, routing or data was published.",
        "21": f"{listed(OTHER_BATCHES)} requests; those of {BATCH} are in Figure 14.",
    }[figure]


BATCH, OTHER_BATCHES = 64, (16, 80)
"""Requests of the batches of Figure 14, and of those that Figure 21 has besides."""


def introduction(results: Path) -> str:
    """The fabric, and its differences; raises `Defect` where points have other operations a cycle."""
    memory = PUBLISHED.memory
    for figure, count in OPERATIONS.items():
        rows = CAMPAIGN.read(results, figure)
        said(f"{count} in Figure {figure}", all(2 * json.loads(row["fabric"])["matmul_lanes"] == count for row in rows))
    kinds = {count: [figure for figure, each in OPERATIONS.items() if each == count] for count in OPERATIONS.values()}
    told = "; ".join(f"{count} in Figure{'s' * (len(each) > 1)} {listed(each)}" for count, each in kinds.items())
    return filled(
        Path(__file__).with_name("introduction.md"),
        one="15",
        channels=memory.channels,
        beat=memory.beat_bytes,
        interval=memory.interval,
        bandwidth=memory.channels * memory.beat_bytes // memory.interval,
        latency=memory.latency,
        link=PUBLISHED.link_bytes,
        operations=told,
        more=DYNAMIC.flops,
        stages=PUBLISHED.stages,
        part=1 / PUBLISHED.stages,
        outstanding=PUBLISHED.outstanding,
    )


def page(results: Path) -> str:
    """All figures, then what limits them, and what is missing."""
    parts = [introduction(results), *on_dram.words(results)]
    for figure in FIGURES:
        if CAMPAIGN.read(results, figure):
            parts += [f"## Figure {figure}", _words(figure), table(figure, results)]
        if figure == "8" and (against := told(lambda: validated.table(results))):
            parts += [AGAINST, against, DIFFERENCES, memories.differences(results), EFFECTS, memories.table(results)]
    if means := told(lambda: mean_gains(FigureRows(results, "fabric"))):
        parts += ["Geometric means of three batches each, as in the paper's figure:", means]
    parts += scheduling.part(results)
    if costs := on_dram.costs(results):
        parts += ["## Area and energy", on_dram.LIMITS, grid(on_dram.HEAD, costs)]
    parts += ["## Seconds", seconds(results)]
    parts += _limits(read(results / explained.FILE, explained.COLUMNS))
    parts += interleaving.part(results)
    parts += _missing(results)
    return "\n\n".join(parts) + "\n"


AGAINST = (
    "Against the published HDL: on the ideal memory above, which has no rows, banks or refresh, and on the DRAM that "
    f"HDL has (`{memories.PART}` of [off-chip memory](memory.md#presets), with half of its channels, as scalars have "
    "half of the bytes; `python -m experiments.fabric.validation --rtl --dram` runs that in RTL). Beside them our "
    "program in whole tiles, with its critical path (`step explain`): cycles in which beats of memory waited for "
    "others, and cycles in which a matmul worked or its result was on its way."
)
DIFFERENCES = "What else differs from the HDL:"
EFFECTS = (
    "What is the memory's of those cycles: single effects switched off, on the part of HDL, on the same bandwidth of "
    f"`{memories.OWN}`, and there with beats of one burst. Cycles over those on the ideal memory, in the mean, and "
    "errors against HDL, of all tile sizes and at some of them."
)


def _limits(rows: list[Row]) -> list[str]:
    """`step explain` on the best and the worst points."""
    if not rows:
        return []
    names = ("figure", "point", "cycles", "weights", "cycles, explained", "use of bandwidth", "along the critical path")
    lines = [
        [
            row["figure"],
            row["point"],
            f"{int(row['cycles']):,}",
            row["weights"],
            f"{int(row['explained_cycles']):,}" if row["explained_cycles"] else "",
            f"{float(row['memory']):.0%}",
            row["limits"],
        ]
        for row in rows
    ]
    words = (
        "[`step explain`](explain.md) on the fastest and the slowest of points with the same work; for attention, on"
        " interleaved and dynamic regions at the largest and the smallest gain. A full mixture of experts moves too"
        " many beats to record each, so one with smaller weights and a similar use of memory is explained instead, or"
        " else the busiest operator is named. A `*` stands for any region or expert."
    )
    return ["## What limits the best and the worst points", words, grid(names, lines)]


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
