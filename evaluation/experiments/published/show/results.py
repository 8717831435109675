"""All rows that there are, by figure and point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from experiments.rows import read

Row = Mapping[str, str]


class Missing(LookupError):
    """A point that was not run yet."""


class FigureRows:
    """The rows of the files ``PREFIX_figN.csv`` in a folder; others than numbered figures have no ``fig``."""

    def __init__(self, folder: Path, prefix: str) -> None:
        self.prefix = prefix
        self.figures: dict[str, dict[str, Row]] = {}
        for path in sorted(folder.glob(f"{prefix}_*.csv")):
            name = path.stem.removeprefix(f"{prefix}_").removeprefix("fig")
            self.figures[name] = {row["point"]: row for row in read(path)}

    def row(self, figure: str, point: str) -> Row:
        """A row; raises `Missing`."""
        found = self.figures.get(figure, {}).get(point)
        if found is None:
            raise Missing(f"figure {figure}, {point}")
        return found

    def number(self, figure: str, point: str, column: str = "cycles") -> float:
        """A number of a row; raises `Missing` where it is not known."""
        text = self.row(figure, point).get(column)
        if not text:
            raise Missing(f"{column} of figure {figure}, {point}")
        return float(text)

    def points(self, figure: str) -> Mapping[str, Row]:
        """The rows of a figure by point."""
        return self.figures.get(figure, {})


def told(text: Callable[[], str]) -> str:
    """``text``, or nothing where a point that it needs is missing."""
    try:
        return text()
    except Missing:
        return ""
