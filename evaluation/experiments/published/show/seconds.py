"""The time that the figures take, beside what the paper says of its own runs, which is no comparison (see `speed`)."""

from __future__ import annotations

from experiments.published.points import FIGURES
from experiments.published.show.results import FigureRows

PUBLISHED = {"8": 120, "9": 150 * 60, "10": 1030 * 60, "12": 100 * 60, "14": 4 * 60, "15": 60, "21": 15 * 60}
"""Seconds on eight cores, from the paper's artifact: of Fig. 8 those without HDL, of Figs. 10, 12 and so on all of
it."""

HEAD = (
    "| figure | points | elements | seconds of one core | as published: eight cores, build not stated |",
    "|---|---:|---:|---:|---:|",
)


def table(results: FigureRows) -> str:
    """A line per figure, and their sum."""
    lines = list(HEAD)
    total = 0.0
    for figure in FIGURES:
        rows = results.points(figure).values()
        if not rows:
            continue
        seconds = sum(float(row["cpu_seconds"]) for row in rows)
        total += seconds
        elements = sum(int(row["elements"]) for row in rows)
        known = PUBLISHED.get(figure)
        theirs = f"{known:,}" if known else ""
        lines.append(f"| {figure} | {len(rows)} | {elements:,} | {seconds:.1f} | {theirs} |")
    lines.append(f"| all | | | {total:.1f} | |")
    return "\n".join(lines)
