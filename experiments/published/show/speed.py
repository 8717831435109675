"""How fast the published simulator is beside ours: both measured on one machine, none of it by the paper.

`speed.csv` has what was measured. ``simulator``: a release build of the artifact's, and the back end ``published`` on
the same graphs of Fig. 15. ``framework``: the one that the artifact stands on, with one worker and coroutines, which is
its best, and our compiled engine on the same programs, where it may not jump over repeated firings.
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


def faster(row: Measured) -> float:
    """How many times as fast as theirs ours is: seconds are better where they are few, firings where they are many."""
    ours, theirs = float(row["ours"]), float(row["theirs"])
    return theirs / ours if row["unit"] == "CPU seconds" else ours / theirs


def factors(what: str) -> list[float]:
    """Of the ``simulator`` or the ``framework``."""
    return [faster(row) for row in measured() if row["what"] == what]


def text() -> str:
    """What was measured, and how."""
    names = ("what", "case", "unit", "theirs", "ours", "ours / theirs")
    lines = [f"| {' | '.join(names)} |", "|---|---|---|---:|---:|---:|"]
    for row in measured():
        lines.append(f"| {' | '.join(row[name] for name in names[:-1])} | {faster(row):.1f} times as fast |")
    return (
        f"Against a release build of the published simulator, on the same machine and graphs, ours is "
        f"{span(factors('simulator'), '.1f')} times as fast. Against the framework that it stands on, with one worker "
        f"and coroutines, which is its best, our compiled engine is {span(factors('framework'), '.1f')} times as fast "
        "on the same programs, without its jumps over firings that repeat. These were measured once, and are in "
        "`experiments/published/speed.csv`; the seconds that the paper states are of eight cores and of a build that "
        "it does not name, probably one for debugging, and are no measure of either.\n\n" + "\n".join(lines)
    )
