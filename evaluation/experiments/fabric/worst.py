"""On-chip memory that hardware must have for tiles of dynamic size, whatever the routing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import getfile
from pathlib import Path

from experiments.fabric.figures import FIGURES
from experiments.fabric.points import FabricPoint
from experiments.fabric.record import digest_with
from experiments.rows import Row
from experiments.work import Experiment
from step import metrics
from step.language.symbols import evaluate

TOKENS = {"9": 64, "10": 1024, "12": 64, "17": 64}
"""Of the batch, by figure."""
COLUMNS = ("point", "on_chip_bytes", "worst_on_chip_bytes", "cpu_seconds", "version", "sources")
ROWS, TILES, TOGETHER = (
    re.compile(each) for each in (r"route_D\d+$", r"region\d+_turns_D0$", r"region\d+_turns_rows$")
)
"""Names of symbols: the rows of an expert, the tiles of a region, and the rows of these."""


@dataclass(frozen=True)
class Worst:
    """``point`` with a batch of so many ``tokens``."""

    point: FabricPoint
    tokens: int

    @property
    def name(self) -> str:
        """The name of the point."""
        return self.point.name

    @property
    def symbols(self) -> dict[str, int]:
        """Symbols of the point, with all tokens at every expert, and in every tile of a region."""
        values = {ROWS: self.tokens, TILES: 1, TOGETHER: self.tokens}
        return {
            name: next((value for kind, value in values.items() if kind.search(name)), known)
            for name, known in self.point.symbols.items()
        }


def dynamic(figure: str) -> Iterator[Worst]:
    """The points of a figure with tiles of dynamic size."""
    return (Worst(point, TOKENS[figure]) for point in FIGURES[figure]() if "dynamic" in point.name)


def measured(worst: Worst) -> dict[str, object]:
    """Bytes with the routing of the point, by the symbols of which its row has them, and in the worst case."""
    found = metrics(worst.point.make())

    def on_chip(symbols: Mapping[str, int]) -> int:
        return int(evaluate(found.on_chip_bytes, symbols, found.graph))

    return {"on_chip_bytes": on_chip(worst.point.symbols), "worst_on_chip_bytes": on_chip(worst.symbols)}


def sources(figure: str) -> str:
    """A digest of the files that decide the results."""
    return digest_with(getfile(FIGURES[figure]), __file__)


def told(row: Row) -> str:
    """A point that was found."""
    return f"{int(row['worst_on_chip_bytes']):,} bytes at most"


def known(results: Path, figure: str) -> dict[str, int]:
    """Bytes that hardware must have on chip, by point; none where they were not found yet."""
    return {row["point"]: int(row["worst_on_chip_bytes"]) for row in CAMPAIGN.read(results, figure)}


CAMPAIGN = Experiment("worst", COLUMNS, {each: partial(dynamic, each) for each in TOKENS}, measured, sources, told)
