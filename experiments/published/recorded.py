"""Cycles in the result files that the artifact comes with.

Source: https://github.com/gina7484/step_artifact at a35172d; `recorded.csv` names the file of each. Left out are files
of runs that are not those of the paper: Qwen3 at batch 1024 with channels of two elements, and the dynamic tiles of
Mixtral at batch 64, which differ from the paper's plot by 1.2 %. All but two of the runs of attention count a cycle
more than the totals printed elsewhere (70,210 for 70,209), as the artifact's memory, a thread of its own, sees its end
that much later.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path


@cache
def _all() -> dict[str, int]:
    with Path(__file__).with_suffix(".csv").open(newline="", encoding="utf-8") as file:
        return {row["point"]: int(row["cycles"]) for row in csv.DictReader(file)}


def recorded(point: str) -> int | None:
    """Cycles of the point of this name; those of Fig. 10 have the batch before it. None where no file has it."""
    return _all().get(point)
