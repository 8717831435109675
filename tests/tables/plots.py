"""Draws the pictures of docs/plots.md, with the code that stands there: ``PYTHONPATH=tests python -m tables.plots``."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import matplotlib

PAGE = Path(__file__).parents[2] / "docs" / "plots.md"
PLOT = re.compile(r"axes = step\.plot\.(\w+)\(")


def draw(folder: Path) -> list[Path]:
    """A picture in ``folder`` for every plot of the page."""
    matplotlib.use("agg")
    names: dict[str, object] = {}
    written = []
    for example in doctest.DocTestParser().get_examples(PAGE.read_text()):
        exec(example.source if not example.want else "", names)
        if plot := PLOT.match(example.source):
            written.append(folder / f"plot_{plot[1]}.png")
            names["axes"].figure.savefig(written[-1], dpi=100, metadata={"Software": None})  # type: ignore[attr-defined]
    return written


if __name__ == "__main__":
    draw(PAGE.parent)
