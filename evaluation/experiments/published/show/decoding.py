"""Claims of Fig. 17: whole decoder layers, of which neither graph nor routing nor data were published."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path

from experiments.published.show.claim import Claim
from experiments.published.show.multiplexing import EXPERTS, OPERATIONS, OPERATORS
from experiments.published.show.results import FigureRows
from experiments.said import said

IRREPRODUCIBLE = "not reproducible: no graph, routing or data was published"
BASE = "memory-matched"
STATED = 1.15
"""The speedup of Qwen3 in the paper's text."""
FREED = (
    ("mixtral", "dynamic", "performance-matched", 0.20),
    ("qwen", "dynamic on 32 regions", "performance-matched", 0.88),
    ("qwen", "dynamic on 32 regions", "memory-matched", 0.69),
)
"""The share of on-chip memory that is not needed, of another layer's, in the paper's text."""
SCHEDULES = ("memory-matched", "performance-matched", "dynamic", "dynamic on 32 regions")
SHARED = SCHEDULES[-1]


@cache
def bars() -> Mapping[tuple[str, str], Mapping[str, float]]:
    """The published bars, by model and schedule: ``speedup``, ``mebibytes`` on chip, and ``thousand_operations`` a
    cycle that are there."""
    with (Path(__file__).parents[1] / "figure17.csv").open(newline="", encoding="utf-8") as file:
        return {
            (row.pop("model"), row.pop("schedule")): {name: float(value) for name, value in row.items()}
            for row in csv.DictReader(file)
        }


def regions_of_bar() -> float:
    """Regions of Qwen3's dynamic bar: what it has fewer operations than the static one, by those of a region."""
    static, dynamic = (bars()["qwen", each]["thousand_operations"] for each in (BASE, SHARED))
    return EXPERTS - 1000 * (static - dynamic) / (OPERATORS * OPERATIONS)


def claims() -> Iterator[Claim]:
    """Speedups over the memory-matched layer, and memory that is not needed."""
    for model in ("mixtral", "qwen"):
        for schedule in SCHEDULES[1:]:
            known = bars().get((model, schedule))
            if known is None and (model, schedule) != ("qwen", "dynamic"):
                continue
            yield Claim(
                f"{schedule} over {BASE}, a layer of {model}, figure 17",
                f"{known['speedup']:.3f}" if known else "",
                partial(_speedup, model, schedule),
                partial(_speedup, model, schedule),
                partial(_sentence, model, schedule),
                reproduced=IRREPRODUCIBLE,
            )
    for model, schedule, other, freed in FREED:
        yield Claim(
            f"on-chip memory that {schedule} frees, against {other}, a layer of {model}, figure 17",
            f"{freed:.0%}",
            partial(_freed, model, schedule, other, "on_chip_bytes"),
            partial(_freed, model, schedule, other, "equation_on_chip_bytes"),
            partial(_memory, model, schedule, other),
            reproduced=IRREPRODUCIBLE,
        )


def _sentence(model: str, schedule: str, results: FigureRows) -> str:
    if schedule == "performance-matched":
        return "Static tiles of more rows. Ours: one layer of `step_models.decoder`, measured routing."
    same = "The same layer with dynamic tiles and dynamic regions, and as many operations a cycle."
    if model == "mixtral":
        return same
    if schedule == SHARED:
        return said(
            f"The published bar is this schedule: by its operations a cycle it has {regions_of_bar():.0f} regions. The "
            f"paper's text says {STATED:.2f}.",
            f"{regions_of_bar():.0f}" == schedule.split()[-2],
        )
    return f"{same} Of this schedule no bar was published."


def _speedup(model: str, schedule: str, results: FigureRows) -> str:
    cycles = [results.number("17", f"{model} {name}") for name in (BASE, schedule)]
    return f"{cycles[0] / cycles[1]:.3f}"


def _freed(model: str, schedule: str, other: str, column: str, results: FigureRows, of: str | None = None) -> str:
    static, dynamic = (
        results.number("17", f"{model} {name}", memory) for name, memory in ((other, of or column), (schedule, column))
    )
    return f"{1 - dynamic / static:.0%}"


def _memory(model: str, schedule: str, other: str, results: FigureRows) -> str:
    ours = _freed(model, schedule, other, "used_on_chip_bytes", results, "all_on_chip_bytes")
    static, dynamic = (bars()[model, each]["mebibytes"] for each in (other, schedule))
    return (
        f"The bars give {1 - dynamic / static:.0%}; they show another column than the paper's table. With experts "
        f"without tokens counted for static tiles only, ours gives {ours}. Fair: for none, by the paper's equations."
    )
