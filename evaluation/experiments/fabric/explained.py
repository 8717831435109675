"""Limits of points: `step explain`, in a line each."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.fabric.figures import FIGURES
from experiments.fabric.record import CAMPAIGN
from experiments.rows import Row, read, write
from sim_approx.explain.explanation import explain
from step import Simulator
from step.errors import InputError
from step.host.progress import Progress

FILE = "fabric_explained.csv"

COLUMNS = ("figure", "point", "cycles", "weights", "explained_cycles", "memory", "limits", "sources")
SHOWN = 3
"""Causes of a point."""
MOST = 50e6
"""Bytes of a point that is recorded as it is."""
ALIKE = 0.1
"""By how much the use of memory may differ."""
KINDS = ("interleaved", "dynamic")


def chosen(rows: Sequence[Row]) -> list[Row]:
    """The fastest and the slowest of all points that do the same work.

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


def explained(figure: str, row: Row, made_of: str) -> Row:
    """The limits of the point of ``row``, on sources with the digest ``made_of``.

    Where a smaller one is explained in its place, that has to use the memory as the point does. Else, and for what
    moves too many beats to be recorded, the busiest operator stands for the critical path.
    """
    point = next(each for each in FIGURES[figure]() if each.name == row["point"])
    moved = int(row["off_chip_bytes"] or 0)
    use = moved / (int(row["cycles"]) * bandwidth(json.loads(row["fabric"])["memory"]))
    made = {"figure": figure, "point": row["point"], "cycles": row["cycles"], "memory": f"{use:.3f}"}
    made |= {"weights": "", "explained_cycles": "", "sources": made_of}
    if point.narrow is not None or moved <= MOST:
        program, weights = (point.make(), "") if point.narrow is None else point.narrow(moved)
        found = explain(program, changes=False)
        shares = found.path.shares()
        if abs(found.usage.memory / use - 1) < ALIKE and min(shares.values()) >= 0:
            counted: Counter[str] = Counter()
            for cause, cycles in shares.items():
                counted[f"`{_any(cause.what)}` {cause.why}"] += cycles
            most = [f"{what} {cycles / found.cycles:.0%}" for what, cycles in counted.most_common(SHOWN)]
            return made | {"weights": weights, "explained_cycles": str(found.cycles), "limits": ", ".join(most)}
    program = point.make()
    operators = Simulator(program).run().result.operators
    name = max(operators, key=lambda each: operators[each].busy)
    return made | {"limits": f"`{_any(name)}` is busy {operators[name].busy / int(row['cycles']):.0%} of the time"}


def bandwidth(memory: Mapping[str, int]) -> float:
    """Bytes a cycle."""
    return memory["channels"] * memory["beat_bytes"] / memory["interval"]


def _any(name: str) -> str:
    """``name`` of any region or expert."""
    return re.sub(r"(?<=[a-z])[0-9]+", "*", name)


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
            if key not in found:
                found[key] = explained(figure, row, digests[figure])
                write(path, COLUMNS, [found[each] for each in sorted(found, key=lambda each: int(each[0]))])
                progress(f"figure {figure}, {row['point']}: {found[key]['limits']}")
