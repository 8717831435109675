"""The part of the evaluation on the published timing, made of its result files."""

from __future__ import annotations

from pathlib import Path

from experiments.published.layers import SIZE
from experiments.published.points import FIGURES, SHOWN
from experiments.published.show import (
    decoding,
    exactness,
    multiplexing,
    parallelization,
    seconds,
    speed,
    tiling,
    validation,
)
from experiments.published.show.results import FigureRows, told
from experiments.published.show.tables import known_points
from experiments.said import filled

CLAIMS = (validation, tiling, multiplexing, parallelization, decoding)
INTRODUCTION = Path(__file__).with_name("introduction.md")
READ, LAYERS = "9 and 10", "17"
"""The figures of which some cycles were read off a plot, and that of whole layers."""


def page(folder: Path) -> str:
    """The errors of figures, the time that they take, and the points that have a published number."""
    ours = FigureRows(folder, "published")
    parts = [filled(INTRODUCTION, read=READ, columns=SIZE, layers=LAYERS)]
    if near := told(lambda: exactness.text(ours)):
        parts += ["## How near the cycles are", near]
    parts += ["## Seconds", seconds.table(ours), "## Speed", speed.text()]
    for figure in FIGURES:
        rows = list(ours.points(figure).values())
        if rows:
            sources = ", ".join(f"`{each}`" for each in sorted({row["sources"] for row in rows}))
            parts.append(f"## {_title(figure)}\n\nSources {sources}.\n\n{known_points(rows)}")
    return "\n\n".join(parts) + "\n"


TITLES = {
    "beside": "Beside the figures: recorded, not shown",
    "equal_compute": "Fair: equal compute",
    "true_attention": "Fair: true attention",
}


def _title(figure: str) -> str:
    if figure in TITLES:
        return TITLES[figure]
    also = [name for name, other in SHOWN.items() if other == figure]
    return " and ".join([f"Figure{'s' if also else ''} {figure}", *also])
