"""docs/distance.md: the evaluation where distance takes cycles, of the result files.

``python -m experiments.distance.page`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, geometric_mean

from experiments.distance.points import ATTENTION, CAMPAIGN, EACH, HOPS, MEAN, MIXTURES, REQUESTS, SEEDS, SMALL
from experiments.fabric.points import ARRANGEMENTS
from experiments.fabric.scheduling import requests_of
from experiments.fabric.tables import grid
from experiments.rows import RESULTS, ROOT, Row
from experiments.said import filled, laid_out, listed, said, span
from step.host.files import write_atomically

PAGE = ROOT / "docs" / "distance.md"
WAYS = ("cycles", *(f"far{hop}" for hop in HOPS))
"""Columns of cycles, without distance and with it."""
HEADS = ("no distance", *(f"{hop} a step" for hop in HOPS))
BASELINES: Sequence[str]
*BASELINES, DYNAMIC = ARRANGEMENTS
FULL = "full size"


def page(results: Path) -> str:
    """The page, with all of its numbers from ``results``."""
    requests, mixtures = (CAMPAIGN.read(results, study) for study in (ATTENTION, MIXTURES))
    sizes: dict[str, list[Row]] = {FULL: [], SMALL: []}
    for row in requests:
        sizes[SMALL if _batches(row["point"]) == SMALL else FULL].append(row)
    text = filled(
        Path(__file__).with_name("page.md"),
        hops=" or ".join(map(str, HOPS)),
        answer="\n".join(_answer(rows, size, baseline) for size, rows in sizes.items() for baseline in BASELINES),
        each=EACH,
        small=f"{SEEDS} batches of {REQUESTS} requests with {MEAN} rows in the mean, on the default fabric",
        gains=_by_batches(requests),
        costs=_shares(sizes, "far", "cycles"),
        mixtures=_mixtures(mixtures),
        wires=_shares(sizes, "wires", "far{}"),
        steps=span((float(row[f"steps{hop}"]) for row in (*requests, *mixtures) for hop in HOPS), ".1f"),
        most=max(int(row[f"most{hop}"]) for row in (*requests, *mixtures) for hop in HOPS),
    )
    return laid_out(text) + "\n"


def _kind(rows: Iterable[Row], kind: str) -> dict[str, Row]:
    """Rows of an arrangement, by batch."""
    return {row["point"].rpartition(" ")[0]: row for row in rows if row["point"].endswith(f" {kind}")}


def _gains(rows: Sequence[Row], baseline: str, way: str) -> list[float]:
    """Cycles of ``baseline`` over those of dynamic regions, by batch."""
    own, other = _kind(rows, DYNAMIC), _kind(rows, baseline)
    return [int(other[batch][way]) / int(own[batch][way]) for batch in own]


def _answer(rows: Sequence[Row], size: str, baseline: str) -> str:
    """What is left of the lead of dynamic regions over those of ``baseline``."""
    near, *far = (geometric_mean(_gains(rows, baseline, way)) for way in WAYS)
    verdict = "still win" if far[-1] > 1 else "lose what they win" if near > 1 else "do not win near or far"
    told = listed(f"{mean:.3f}" for mean in (near, *far))
    text = f"* **{size.capitalize()}, dynamic regions {verdict} over {baseline} ones**: {told}."
    return said(text, near >= far[-1])


def _batches(point: str) -> str:
    """The batches that the one of a point is among."""
    first = point.partition(" ")[0]
    if first == SMALL:
        return SMALL
    return "Figure 15" if first.startswith("B=") else f"{requests_of(point)} requests"


def _by_batches(rows: Sequence[Row]) -> str:
    """A line for each baseline and kind of batches."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_batches(row["point"]), []).append(row)
    lines = []
    for baseline in BASELINES:
        for name, own in groups.items():
            gains = [_gains(own, baseline, way) for way in WAYS]
            told = (f"{geometric_mean(each):.3f} ({span(each)}), {sum(gain > 1 for gain in each)}" for each in gains)
            lines.append([f"{baseline}, {name}", f"{len(gains[0])}", *told])
    return grid(["over dynamic", "batches", *HEADS], lines)


def _shares(sizes: Mapping[str, Sequence[Row]], up: str, down: str) -> str:
    """A line per arrangement: how much more cycles the columns that begin with ``up`` have than ``down``."""
    lines = []
    for kind in ARRANGEMENTS:
        found = (
            [int(row[f"{up}{hop}"]) / int(row[down.format(hop)]) - 1 for row in _kind(rows, kind).values()]
            for rows in sizes.values()
            for hop in HOPS
        )
        lines.append([kind, *(f"{fmean(each):+.2%} ({max(each):+.2%})" for each in found)])
    return grid(["arrangement", *(f"{size}, {hop} a step" for size in sizes for hop in HOPS)], lines)


def _mixtures(rows: Sequence[Row]) -> str:
    lines = [
        [row["point"], f"{int(row['units']):,}", f"{int(row['cycles']):,}"]
        + [f"{int(row[way]) / int(row['cycles']) - 1:+.2%}" for way in WAYS[1:]]
        for row in rows
    ]
    return grid(["figure, tiles, and rows or regions", "units", "cycles", *HEADS[1:]], lines)


if __name__ == "__main__":
    write_atomically(PAGE, page(RESULTS).encode())
