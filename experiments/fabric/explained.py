"""What limits points: `step explain`, in a line each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from experiments.fabric.figures import FIGURES
from experiments.fabric.points import RECORDED
from experiments.fabric.record import CAMPAIGN
from experiments.rows import Row, read, write
from sim_approx.explain.explanation import explain
from step.errors import InputError
from step.host.progress import Progress

FILE = "fabric_explained.csv"

COLUMNS = ("figure", "point", "cycles", "weights", "explained_cycles", "memory", "limits", "sources")
SHOWN = 3
"""Causes of a point."""
KINDS = ("interleaved", "dynamic")


def chosen(rows: Sequence[Row]) -> list[Row]:
    """Of all points that do the same work, the fastest and the slowest.

    Where regions take turns, or are dynamic: both of them, where dynamic regions gain most and where they gain least.
    """
    groups: dict[str, dict[str, Row]] = {}
    for row in rows:
        group, _, kind = row["point"].rpartition(" ")
        groups.setdefault(group, {})[kind] = row
    gains = {
        group: _cycles(each["interleaved"]) / _cycles(each["dynamic"])
        for group, each in groups.items()
        if each.keys() >= set(KINDS)
    }
    if gains:
        ends = dict.fromkeys((max(gains, key=gains.__getitem__), min(gains, key=gains.__getitem__)))
        return [groups[group][kind] for group in ends for kind in KINDS]
    several = [each.values() for each in groups.values() if len(each) > 1]
    return [row for each in several for row in (min(each, key=_cycles), max(each, key=_cycles))]


def explained(figure: str, row: Row, made_of: str) -> Row | None:
    """What limits the point of ``row``, on sources with the digest ``made_of``.

    None where it moves too many beats for each to be recorded.
    """
    point = next(each for each in FIGURES[figure]() if each.name == row["point"])
    moved = int(row["off_chip_bytes"] or 0)
    if point.narrow is None and moved > RECORDED:
        return None
    program, weights = (point.make(), "") if point.narrow is None else point.narrow(moved)
    found = explain(program, changes=False)
    counted: Counter[str] = Counter()
    for cause, cycles in found.path.shares().items():
        counted[f"`{re.sub(r'(?<=[a-z])[0-9]+', '*', cause.what)}` {cause.why}"] += cycles
    most = [f"{what} {cycles / found.cycles:.0%}" for what, cycles in counted.most_common(SHOWN)]
    return {
        "figure": figure,
        "point": row["point"],
        "cycles": row["cycles"],
        "weights": weights,
        "explained_cycles": str(found.cycles),
        "memory": f"{found.usage.memory:.3f}",
        "limits": ", ".join(most),
        "sources": made_of,
    }


def _cycles(row: Row) -> int:
    return int(row["cycles"])


def run(figures: Sequence[str], results: Path, progress: Progress, *, anew: bool = False) -> None:
    """Explain the chosen points of ``figures``, unless that was done already; each is in the file at once.

    Raises `InputError` for explanations of other sources, unless they are made ``anew``.
    """
    path = results / FILE
    digests = {figure: CAMPAIGN.sources(figure) for figure in figures}
    kept = read(path, COLUMNS)
    current = [row for row in kept if row["sources"] == digests.get(row["figure"], row["sources"])]
    if not anew and current != kept:
        raise InputError(f"{path} has results of other sources; remove it, give another --results, or run it --anew")
    found = {(row["figure"], row["point"]): row for row in current}
    for figure in figures:
        for row in chosen(CAMPAIGN.read(results, figure)):
            key = figure, row["point"]
            if key not in found and (limits := explained(figure, row, digests[figure])) is not None:
                found[key] = limits
                write(path, COLUMNS, [found[each] for each in sorted(found, key=lambda each: int(each[0]))])
                progress(f"figure {figure}, {row['point']}: {limits['limits']}")
