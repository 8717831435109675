"""Figs. 8, 12 and 13: cycles and shares over a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.fabric.regions import allocated, bandwidth, utilization
from experiments.fabric.validation import HARDWARE

Rows = Sequence[Mapping[str, str]]
KILO, MEGA = 1e3, 1e6


def validation(figure: Any, rows: Rows) -> None:
    """Fig. 8: cycles by the columns of a tile, a panel per rows, beside those of the published hardware."""
    heights = list(dict.fromkeys(row["point"].split("x")[0] for row in rows))
    for axes, height in zip(figure.subplots(1, len(heights), squeeze=False)[0], heights, strict=True):
        own = {row["point"].split("x")[1]: row for row in rows if row["point"].startswith(f"{height}x")}
        axes.set(title=f"{height} rows", xlabel="columns of a tile", ylabel="cycles [10³]")
        axes.plot(list(own), [int(row["cycles"]) / KILO for row in own.values()], "o-", label="our fabric")
        theirs = {each: row["published"] for each, row in own.items() if row.get("published")}
        if theirs:
            axes.plot(list(theirs), [float(each) / KILO for each in theirs.values()], "s--", label="published timing")
        known = {each: HARDWARE[row["point"]] / KILO for each, row in own.items() if row["point"] in HARDWARE}
        if known:
            axes.plot(list(known), list(known.values()), "x", label="published hardware")
        axes.set_ylim(bottom=0)
        axes.legend()


def regions(figure: Any, rows: Rows) -> None:
    """Fig. 12: use of the allocated compute as bars, cycles as a line, by number of regions."""
    axes = figure.add_subplot(xlabel="regions", ylabel="use of allocated compute [%]")
    other = axes.twinx()
    other.set_ylabel("cycles [10³]")
    _by_regions(
        axes, other, rows, [100 * utilization(row) for row in rows], [int(row["cycles"]) / KILO for row in rows]
    )
    axes.legend(["use of compute"], loc="upper left")
    other.legend(["cycles"], loc="upper right")


def resources(figure: Any, rows: Rows) -> None:
    """Fig. 13: allocated compute and on-chip memory, and the share of off-chip bandwidth, by number of regions."""
    first, second = figure.subplots(1, 2)
    first.set(xlabel="regions", ylabel="allocated operations a cycle [10³]")
    memory = first.twinx()
    memory.set_ylabel("on-chip memory [MB]")
    compute = [allocated(row) / KILO for row in rows]
    _by_regions(first, memory, rows, compute, [int(row["on_chip_bytes"]) / MEGA for row in rows])
    second.set(xlabel="regions", ylabel="use of off-chip bandwidth [%]")
    other = second.twinx()
    other.set_ylabel("cycles [10³]")
    shares = [100 * bandwidth(row) for row in rows]
    _by_regions(second, other, rows, shares, [int(row["cycles"]) / KILO for row in rows])


def _by_regions(axes: Any, other: Any, rows: Rows, bars: Sequence[float], line: Sequence[float]) -> None:
    names = [row["point"].replace(" ", "\n") for row in rows]
    axes.bar(names, bars, 0.6, color="C0")
    other.plot(names, line, "o-", color="C1")
    other.set_ylim(bottom=0)
