"""The speed of the published simulator beside ours: measured on one machine each time, none of it by the paper.

`speed.csv` has what was measured. ``simulator``: a release build of the artifact's, and the back end ``published`` on
the same graphs of Fig. 15. ``framework``: the one that the artifact stands on (DAM), with one worker, coroutines and
channels that it infers, and our compiled engine on the same programs, where it may not jump over repeated firings; with
the least and the most of both and of their ratio, as ``python -m benchmarks.dam_speed CHECKOUT 20000 15`` took them in
turns on a busy machine of two cores. ``framework elsewhere``: the same by a reader of the project, on another machine.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

from experiments.said import span

Measured = dict[str, str]


@cache
def measured() -> tuple[Measured, ...]:
    """The rows."""
    with (Path(__file__).parents[1] / "speed.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


def faster(row: Measured) -> list[float]:
    """Speed of ours in times of theirs, at least and at most where both were measured: seconds are better where
    they are few, firings where they are many."""
    if row["least"]:
        return [float(row["least"]), float(row["most"])]
    ours, theirs = float(row["ours"]), float(row["theirs"])
    return [theirs / ours if row["unit"] == "CPU seconds" else ours / theirs]


def factors(what: str) -> list[float]:
    """Ratios of the ``simulator`` or the ``framework``."""
    return [factor for row in measured() if row["what"] == what for factor in faster(row)]


def text() -> str:
    """The measurements, and their method."""
    names = ("what", "case", "unit", "theirs", "ours", "ours / theirs")
    lines = [f"| {' | '.join(names)} |", "|---|---|---|---:|---:|---:|"]
    for row in measured():
        both = (" to ".join(row[each] for each in (who, f"{who}_most") if row[each]) for who in ("theirs", "ours"))
        cells = [*(row[name] for name in names[:3]), *both, f"{span(faster(row), '.1f')} times as fast"]
        lines.append(f"| {' | '.join(cells)} |")
    return (
        f"Against a release build of the published simulator, on the same machine and graphs, ours is "
        f"{span(factors('simulator'), '.1f')} times as fast. Against the framework that it stands on (DAM), with one "
        "worker, coroutines and channels that it infers, which is its best for a second of the processor, our "
        f"compiled engine is {span(factors('framework'), '.1f')} times as fast on the same programs, without its jumps "
        "over firings that repeat: in turns on a busy machine of two cores, from the worst pair of runs to the best. "
        f"On another machine a reader of the project measured {span(factors('framework elsewhere'), '.1f')}. "
        "`python -m benchmarks.dam_speed` runs both on a checkout of DAM. All is in "
        "`evaluation/experiments/published/speed.csv`; the seconds that the paper states are of eight cores and of a "
        "build that it does not name, probably one for debugging, and are no measure of either.\n\n"
    ) + "\n".join(lines)
