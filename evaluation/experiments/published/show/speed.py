"""How fast the published simulator is beside ours: measured on one machine each time, none of it by the paper.

`speed.csv` has what was measured. ``simulator``: a release build of the artifact's, and the back end ``published`` on
the same graphs of Fig. 15. ``framework``: the one that the artifact stands on (DAM), with one worker and coroutines,
which is its best, and our compiled engine on the same programs, where it may not jump over repeated firings: taken in
turns by a reader of the project, on a shared machine of two cores, with the least and the most of both and of their
ratio. ``framework once``: the same on one day of another machine. ``benchmarks/dam_speed.py`` measures it anew.
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
    """How many times as fast as theirs ours is, at least and at most where both were measured: seconds are better where
    they are few, firings where they are many."""
    if row["least"]:
        return [float(row["least"]), float(row["most"])]
    ours, theirs = float(row["ours"]), float(row["theirs"])
    return [theirs / ours if row["unit"] == "CPU seconds" else ours / theirs]


def factors(what: str) -> list[float]:
    """Of the ``simulator`` or the ``framework``."""
    return [factor for row in measured() if row["what"] == what for factor in faster(row)]


def text() -> str:
    """What was measured, and how."""
    names = ("what", "case", "unit", "theirs", "ours", "ours / theirs")
    lines = [f"| {' | '.join(names)} |", "|---|---|---|---:|---:|---:|"]
    for row in measured():
        ours = " to ".join(each for each in (row["ours"], row["ours_most"]) if each)
        cells = [*(row[name] for name in names[:4]), ours, f"{span(faster(row), '.1f')} times as fast"]
        lines.append(f"| {' | '.join(cells)} |")
    return (
        f"Against a release build of the published simulator, on the same machine and graphs, ours is "
        f"{span(factors('simulator'), '.1f')} times as fast. Against the framework that it stands on (DAM), with one "
        f"worker and coroutines, which is its best, our compiled engine is {span(factors('framework'), '.1f')} times "
        "as fast on the same programs, without its jumps over firings that repeat: so a reader of the project measured "
        "it, in turns on a shared machine of two cores. One day on another machine it was "
        f"{span(factors('framework once'), '.1f')}. `benchmarks/dam_speed.py` runs both on a checkout of DAM. All is "
        "in `experiments/published/speed.csv`; the seconds that the paper states are of eight cores and of a build "
        "that it does not name, probably one for debugging, and are no measure of either.\n\n"
    ) + "\n".join(lines)
