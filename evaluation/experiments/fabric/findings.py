"""The paper's claims on our fabric, a sentence each, from the result files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean

from experiments import intervals
from experiments.fabric import on_dram, scheduling, traces, validated, worst
from experiments.fabric.record import CAMPAIGN
from experiments.fabric.regions import ALL, FEW, utilization
from experiments.published.show.results import told
from experiments.rows import Row
from experiments.said import listed, span

MODELS = {"mixtral": "Mixtral", "qwen": "Qwen3"}


def findings(results: Path) -> list[str]:
    """Sentences on each figure that was run as a whole."""
    first = told(lambda: validated.finding(results))
    parts = (_tiles, _traces, _regions, _arrangements, scheduling.findings, on_dram.findings, _layers)
    return [each for each in (first, *(each for part in parts for each in part(results))) if each]


def _tiles(results: Path) -> Iterator[str]:
    for figure in ("9", "10"):
        rows, most = CAMPAIGN.by_point(results, figure), worst.known(results, figure)
        for model, title in MODELS.items():
            static = {name: row for name, row in rows.items() if name.startswith(f"{model} ") and "dynamic" not in name}
            dynamic = rows.get(f"{model} dynamic")
            if dynamic is None or not static:
                continue
            fast = min(static.values(), key=_cycles)
            small = min(static.values(), key=_memory)
            known = most.get(dynamic["point"])
            must = f" ({known / 1e6:.1f} MB for any routing, as hardware needs)" if known else ""
            yield (
                f"**Tiles of dynamic size** (Figure {figure}, {title}, batch {worst.TOKENS[figure]}): "
                f"{_cycles(dynamic):,} cycles and {_memory(dynamic) / 1e6:.1f} MB{must}. The fastest static tiles "
                f"({_kind(fast)} rows) take {_cycles(fast) / _cycles(dynamic):.2f} times the cycles and "
                f"{_memory(fast) / _memory(dynamic):.2f} times the memory, the smallest ({_kind(small)} rows) "
                f"{_cycles(small) / _cycles(dynamic):.2f} and {_memory(small) / _memory(dynamic):.2f} times."
            )


def _traces(results: Path) -> Iterator[str]:
    """Fig. 9 with other batches, of those that were run with all tiles."""
    rows = CAMPAIGN.by_point(results, "traces")
    for model, title in MODELS.items():
        whole = [number for number in range(traces.COUNT) if set(traces.names(model, number)) <= rows.keys()]
        if len(whole) < 2:
            continue
        cycles = [[_cycles(rows[name]) for name in traces.names(model, number)] for number in whole]
        gains = [[static / dynamic for static in each] for *each, dynamic in cycles]
        means = listed(
            f"{intervals.told(each)} for {height} rows"
            for height, each in zip(traces.HEIGHTS, zip(*gains, strict=True), strict=True)
        )
        best = [min(each) for each in gains]
        yield (
            f"**Other traces** (as Figure {traces.FIGURE}, {title}, {len(whole)} more batches of {traces.BATCH} "
            f"tokens from the measured routing of {traces.LARGE:,}). Cycles of static tiles over those of dynamic "
            f"ones, mean with {intervals.CONFIDENCE:.0%} interval: {means}. The best static tiles of each batch: "
            f"{intervals.told(best)}, range {span(best)}."
        )


def _regions(results: Path) -> Iterator[str]:
    rows = CAMPAIGN.by_point(results, "12")
    if not {f"static {ALL}", f"static {FEW}"} <= rows.keys():
        return
    many, few = rows[f"static {ALL}"], rows[f"static {FEW}"]
    best = min((row for name, row in rows.items() if name.startswith("static")), key=_cycles)
    yield (
        f"**Regions that experts share** (Figures 12 and 13). {FEW} regions use {utilization(few):.1%} of their "
        f"compute, {ALL} regions {utilization(many):.1%}: {utilization(few) / utilization(many):.2f} times as much. "
        f"The price is {_cycles(few) / _cycles(many) - 1:+.1%} cycles, the gain {1 - _memory(few) / _memory(many):.0%} "
        f"less memory, with static tiles on both sides. {_kind(best)} regions are the fastest.{_shared(rows, results)}"
    )


def _shared(rows: dict[str, Row], results: Path) -> str:
    """The same with tiles of dynamic size, whose memory is that of any routing."""
    names, most = [f"dynamic {count}" for count in (ALL, FEW)], worst.known(results, "12")
    if not set(names) <= rows.keys() & most.keys():
        return ""
    many, few = names
    return (
        f" With tiles of dynamic size the price is {_cycles(rows[few]) / _cycles(rows[many]) - 1:+.1%} cycles, the "
        f"gain {1 - most[few] / most[many]:.0%} less of the memory that hardware needs for any routing."
    )


def _arrangements(results: Path) -> Iterator[str]:
    rows = CAMPAIGN.by_point(results, "14") | CAMPAIGN.by_point(results, "21")
    for baseline, what in (("coarse", "coarse blocks"), ("interleaved", "interleaved ones")):
        gains = {
            name.removesuffix(" dynamic"): _cycles(rows[f"{name.removesuffix('dynamic')}{baseline}"]) / _cycles(row)
            for name, row in rows.items()
            if name.endswith(" dynamic") and f"{name.removesuffix('dynamic')}{baseline}" in rows
        }
        if len(gains) < 2:
            continue
        lost = sum(gain < 1 for gain in gains.values())
        best, least = (choose(gains, key=gains.__getitem__) for choose in (max, min))
        ends = " to ".join(f"{each:.2f}" for each in intervals.interval(list(gains.values())))
        yield (
            f"**Dynamic regions against {what}** (Figures 14 and 21, {len(gains)} batches). They are "
            f"{geometric_mean(gains.values()):.2f} times as fast in the mean ({intervals.CONFIDENCE:.0%} interval "
            f"{ends}), from {gains[least]:.2f} (`{least}`) to {gains[best]:.2f} (`{best}`), and slower in {lost}."
        )


def _layers(results: Path) -> Iterator[str]:
    rows = CAMPAIGN.by_point(results, "17")
    for model, title in MODELS.items():
        names = [f"{model} {kind}" for kind in ("memory-matched", "performance-matched", "dynamic")]
        if rows.keys() >= set(names):
            small, fast, dynamic = (_cycles(rows[name]) for name in names)
            shared = next((row for name, row in rows.items() if name.startswith(f"{model} dynamic on ")), None)
            few = f" ({small / _cycles(shared):.2f} on {_regions_of(shared)} regions)" if shared else ""
            yield (
                f"**A layer of {title}** (Figure 17, published without graph and routing). Dynamic tiles and regions "
                f"are {small / dynamic:.2f} times{few} as fast as static tiles of about the same memory, and "
                f"{fast / dynamic:.2f} times as fast as static tiles of more rows."
            )


def _regions_of(row: Row) -> str:
    """The regions of a point called "... on N regions"."""
    return row["point"].split()[-2]


def _kind(row: Row) -> str:
    return row["point"].split()[-1]


def _cycles(row: Row) -> int:
    return int(row["cycles"])


def _memory(row: Row) -> int:
    return int(row["on_chip_bytes"])
