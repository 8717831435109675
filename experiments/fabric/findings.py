"""What holds of the paper's claims on our fabric, a sentence each, from the result files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import geometric_mean

from experiments.fabric.record import CAMPAIGN
from experiments.fabric.regions import utilization
from experiments.fabric.tables import published
from experiments.published.show.validation import HDL
from experiments.rows import Row

MODELS = {"mixtral": "Mixtral", "qwen": "Qwen3"}
BATCHES = {"9": 64, "10": 1024}


def findings(results: Path) -> list[str]:
    """Of each figure that was run as a whole."""
    return [*_validation(results), *_tiles(results), *_regions(results), *_arrangements(results), *_layers(results)]


def _validation(results: Path) -> Iterator[str]:
    ours, theirs = _rows(results, "8"), published("8", results)
    if not HDL.keys() <= ours.keys() & theirs.keys():
        return
    off = {name: _off(rows) for name, rows in (("ours", ours), ("theirs", theirs))}
    yield (
        f"**Validation** (Figure 8). Of the {len(HDL)} tile sizes whose hardware cycles are known, ours are "
        f"{off['ours']:.1%} off in the mean, those of the published timing {off['theirs']:.1%}. Ours grow faster with "
        "the columns of a tile: a matmul begins with a tile when all of it is there, and with few tiles nothing hides "
        "that."
    )


def _off(rows: Mapping[str, Row]) -> float:
    """The mean distance from the hardware."""
    return sum(abs(_cycles(rows[name]) / cycles - 1) for name, cycles in HDL.items()) / len(HDL)


def _tiles(results: Path) -> Iterator[str]:
    for figure, batch in BATCHES.items():
        rows = _rows(results, figure)
        for model, title in MODELS.items():
            static = {name: row for name, row in rows.items() if name.startswith(f"{model} ") and "dynamic" not in name}
            dynamic = rows.get(f"{model} dynamic")
            if dynamic is None or not static:
                continue
            fast = min(static.values(), key=_cycles)
            small = min(static.values(), key=_memory)
            yield (
                f"**Tiles of dynamic size** (Figure {figure}, {title}, batch {batch}). They take "
                f"{_cycles(dynamic):,} cycles and {_memory(dynamic) / 1e6:.1f} MB. The fastest static tiles, of "
                f"{_kind(fast)} rows, take {_cycles(fast) / _cycles(dynamic):.2f} times the cycles and "
                f"{_memory(fast) / _memory(dynamic):.2f} times the memory; the smallest, of {_kind(small)}, "
                f"{_cycles(small) / _cycles(dynamic):.2f} and {_memory(small) / _memory(dynamic):.2f} times."
            )


def _regions(results: Path) -> Iterator[str]:
    rows = _rows(results, "12")
    if not {"static 128", "static 32"} <= rows.keys():
        return
    many, few = rows["static 128"], rows["static 32"]
    best = min((row for name, row in rows.items() if name.startswith("static")), key=_cycles)
    yield (
        f"**Regions that experts share** (Figures 12 and 13). On 32 regions {utilization(few):.1%} of the compute that "
        f"is there is used, on 128 {utilization(many):.1%}: {utilization(few) / utilization(many):.2f} times as much. "
        f"That takes {_cycles(few) / _cycles(many) - 1:+.1%} cycles and {1 - _memory(few) / _memory(many):.0%} less "
        f"memory. {_kind(best)} regions are the fastest."
    )


def _arrangements(results: Path) -> Iterator[str]:
    rows = _rows(results, "14") | _rows(results, "21")
    for baseline, what in (("coarse", "coarse blocks"), ("interleaved", "turns")):
        gains = {
            name.removesuffix(" dynamic"): _cycles(rows[f"{name.removesuffix('dynamic')}{baseline}"]) / _cycles(row)
            for name, row in rows.items()
            if name.endswith(" dynamic") and f"{name.removesuffix('dynamic')}{baseline}" in rows
        }
        if not gains:
            continue
        lost = sum(gain < 1 for gain in gains.values())
        best, worst = (choose(gains, key=gains.__getitem__) for choose in (max, min))
        yield (
            f"**Dynamic regions against {what}** (Figures 14 and 21, {len(gains)} batches). They are "
            f"{geometric_mean(gains.values()):.2f} times as fast in the mean, from {gains[worst]:.2f} (`{worst}`) to "
            f"{gains[best]:.2f} (`{best}`), and slower in {lost}."
        )


def _layers(results: Path) -> Iterator[str]:
    rows = _rows(results, "17")
    for model, title in MODELS.items():
        names = [f"{model} {kind}" for kind in ("memory-matched", "performance-matched", "dynamic")]
        if rows.keys() >= set(names):
            small, fast, dynamic = (_cycles(rows[name]) for name in names)
            yield (
                f"**A layer of {title}** (Figure 17). With dynamic tiles and regions it is {small / dynamic:.2f} times "
                f"as fast as with static tiles of about the same memory, and {fast / dynamic:.2f} times as fast as "
                "with the fastest static ones."
            )


def _rows(results: Path, figure: str) -> dict[str, Row]:
    return {row["point"]: row for row in CAMPAIGN.read(results, figure)}


def _kind(row: Row) -> str:
    return row["point"].split()[-1]


def _cycles(row: Row) -> int:
    return int(row["cycles"])


def _memory(row: Row) -> int:
    return int(row["on_chip_bytes"])
