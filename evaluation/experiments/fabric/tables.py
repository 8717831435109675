"""Results as Markdown, beside the published ones and those of the published timing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from experiments.fabric import on_dram, worst
from experiments.fabric.figures import FIGURES
from experiments.fabric.record import CAMPAIGN
from experiments.fabric.regions import bandwidth, utilization
from experiments.published import rows as published_rows
from experiments.published.show.parallelization import BARS, means
from experiments.published.show.results import FigureRows
from experiments.published.show.validation import hdl
from experiments.rows import Row, moved_as_said

Column = tuple[str, Callable[[Row], str]]


def table(figure: str, results: Path) -> str:
    """The points of a figure that were run, beside the published cycles or, in brackets, our run of that timing."""
    rows = CAMPAIGN.read(results, figure)
    theirs = published(figure, results)
    there = on_dram.known(results, figure)
    if figure in ARRANGED:
        return arrangements(rows, theirs, there)
    more = *COLUMNS.get(figure, ()), *_dram(there)
    return every_point(rows, theirs, more, tuple(_worst(figure, results)))


def _dram(there: Mapping[str, Row]) -> Iterator[Column]:
    """Cycles on DRAM, where points were run on it."""
    if there:
        yield f"cycles, {on_dram.NAME}", lambda row: _number(there.get(row["point"], {}).get("cycles", ""))


def _worst(figure: str, results: Path) -> Iterator[Column]:
    """On-chip bytes that hardware must have where a routing decides the use; static tiles have the same."""
    if known := worst.known(results, figure):
        yield (
            "on-chip bytes, any routing",
            lambda row: f"{known[row['point']]:,}" if row["point"] in known else _number(row["on_chip_bytes"]),
        )


def published(figure: str, results: Path) -> dict[str, Row]:
    """Rows of the published timing, by the name of the point."""
    return published_rows.CAMPAIGN.by_point(results, figure)


def every_point(
    rows: Sequence[Row], theirs: Mapping[str, Row], more: Sequence[Column], memory: Sequence[Column] = ()
) -> str:
    """A line per point, with ``more`` columns of the run and of ``memory``."""
    columns: list[Column] = [
        ("cycles", lambda row: _number(row["cycles"])),
        ("published", lambda row: _shown(theirs.get(row["point"], {}))),
        ("ratio", lambda row: _ratio(row, theirs.get(row["point"], {}))),
        *more,
        ("off-chip bytes", lambda row: _number(row["off_chip_bytes"])),
        ("on-chip bytes", lambda row: _number(row["on_chip_bytes"])),
        *memory,
    ]
    names = ["point", *(name for name, _ in columns)]
    return grid(names, [[row["point"], *(cell(row) for _, cell in columns)] for row in rows])


def arrangements(rows: Sequence[Row], theirs: Mapping[str, Row], there: Mapping[str, Row]) -> str:
    """A line per batch: cycles of each arrangement, and by how much dynamic regions are faster, also ``there``."""
    groups: dict[str, dict[str, Row]] = {}
    for row in rows:
        batch, _, kind = row["point"].rpartition(" ")
        groups.setdefault(batch, {})[kind] = row
    lines = []
    for batch, own in groups.items():
        others = [{kind: each.get(row["point"], {}) for kind, row in own.items()} for each in (theirs, there) if each]
        line = [batch, *(_number(own[kind]["cycles"]) if kind in own else "" for kind in KINDS)]
        for cycles in (own, *others):
            for baseline in KINDS[:2]:
                both = cycles.get(baseline) and cycles.get("dynamic")
                line.append(f"{_cycles(cycles[baseline]) / _cycles(cycles['dynamic']):.2f}" if both else "")
        lines.append(line)
    gains = [f"{baseline} / dynamic" for baseline in KINDS[:2]]
    names = [name for name, each in (("published", theirs), (on_dram.NAME, there)) if each]
    return grid(["batch", *KINDS, *gains, *(f"{each}, {name}" for name in names for each in gains)], lines)


def mean_gains(results: FigureRows) -> str:
    """Fig. 21: what dynamic regions gain, in the mean of three batches, beside what is published."""
    lines = []
    for (batch, baseline), bars in BARS.items():
        found = means(results, batch, baseline, bars)
        for (variance, bar), mean in zip(bars.items(), found, strict=True):
            lines.append([f"{batch} requests, {variance} variance, {baseline} / dynamic", f"{mean:.3f}", f"{bar:.3f}"])
    return grid(["three batches", "our fabric", "published"], lines)


def seconds(results: Path) -> str:
    """Cost of each figure, and in how many points the bytes that were moved off chip are those of
    the symbolic metric."""
    lines, total, every = [], 0.0, list[Row]()
    for figure in FIGURES:
        rows = CAMPAIGN.read(results, figure)
        if rows:
            every += rows
            sums = [sum(int(row[name]) for row in rows) for name in ("cycles", "firings", "tokens")]
            own = sum(float(row["cpu_seconds"]) for row in rows)
            total += own
            lines.append([figure, f"{len(rows)}", *(f"{each:,}" for each in sums), moved_as_said(rows), f"{own:.1f}"])
    lines.append(["all", f"{len(every)}", *[""] * 3, moved_as_said(every), f"{total:.1f}"])
    names = ["figure", "points", "cycles", "firings", "tokens", "moved the bytes of the metric"]
    return grid([*names, "seconds of one core"], lines)


def grid(names: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table, the first column to the left."""
    head = [f"| {' | '.join(names)} |", f"|---|{'---:|' * (len(names) - 1)}"]
    return "\n".join([*head, *(f"| {' | '.join(line)} |" for line in lines)])


def _cycles(row: Mapping[str, str]) -> float:
    """The published ones, where there are some."""
    return float(row.get("published_cycles") or row["cycles"])


def _shown(known: Mapping[str, str]) -> str:
    if not known:
        return ""
    return f"{_cycles(known):,.0f}" if known["published_cycles"] else f"({_cycles(known):,.0f})"


def _ratio(row: Row, known: Mapping[str, str]) -> str:
    return f"{_cycles(row) / _cycles(known):.3f}" if known else ""


def _number(text: str) -> str:
    return f"{int(text):,}" if text else ""


KINDS = ("coarse", "interleaved", "dynamic")
ARRANGED = ("14", "15", "21")
COLUMNS: dict[str, tuple[Column, ...]] = {
    "8": (("cycles of HDL", lambda row: _number(str(hdl().get(row["point"], "")))),),
    "12": (
        ("use of compute", lambda row: f"{utilization(row):.2%}"),
        ("use of bandwidth", lambda row: f"{bandwidth(row):.1%}"),
    ),
}
"""Further ones of a figure."""
