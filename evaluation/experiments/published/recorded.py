"""Cycles in the result files that the artifact comes with.

Source: https://github.com/gina7484/step_artifact at a35172d; `recorded.csv` names the file of each. Some runs are not
those of the paper's figures (`experiments.published.mixtures.beside`): Qwen3 at batch 1024 with channels of two
elements, two regions for its experts, and the dynamic tiles of Mixtral at batch 64, of which the paper's plot shows
another number. Two graphs were run twice (`TWICE`). All but two of the runs of attention count a cycle more than the
totals printed elsewhere (70,210 for 70,209), as the artifact's memory, a thread of its own, sees its end so much later.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

TWICE = ("qwen 16", "qwen 64")
"""Points of Fig. 9 whose graphs the artifact ran twice, and has both results of."""


@cache
def _all() -> dict[str, int]:
    with Path(__file__).with_suffix(".csv").open(newline="", encoding="utf-8") as file:
        return {row["point"]: int(row["cycles"]) for row in csv.DictReader(file)}


def recorded(point: str) -> int | None:
    """Cycles of the point of this name; those of Fig. 10 have the batch before it. None where no file has it."""
    return _all().get(point)


def spread() -> list[float]:
    """The distance of the two runs of each graph that was run twice."""
    return [abs(_all()[point] / _all()[f"{point}, again"] - 1) for point in TWICE]
