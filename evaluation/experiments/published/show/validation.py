"""Claims of Fig. 8: the published simulator against HDL."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import correlation, fmean

from experiments.published.show.claim import Claim
from experiments.published.show.results import FigureRows
from experiments.said import said, span


@cache
def _recorded() -> dict[str, dict[str, str]]:
    with (Path(__file__).parents[1] / "hdl.csv").open(newline="", encoding="utf-8") as file:
        return {row["point"]: row for row in csv.DictReader(file)}


def hdl() -> dict[str, int]:
    """Cycles of the published artifact's HDL, in its own simulation, by tile size."""
    return {point: int(row["cycles"]) for point, row in _recorded().items()}


def hdl_megabytes() -> dict[str, float]:
    """Megabytes that it moved off chip, of the points of which that can be read off the paper's plot."""
    return {point: float(row["megabytes"]) for point, row in _recorded().items() if row["megabytes"]}


def errors(results: FigureRows) -> dict[str, float]:
    """Cycles over those of HDL, less one; raises `Missing`."""
    return {point: results.number("8", point) / cycles - 1 for point, cycles in hdl().items()}


def mean_error(results: FigureRows) -> float:
    """The mean error of all tile sizes, whatever its sign."""
    return fmean(abs(each) for each in errors(results).values())


def worst(results: FigureRows) -> str:
    """The largest error, and its point."""
    found = errors(results)
    point = max(found, key=lambda each: abs(found[each]))
    return f"{found[point]:+.0%} ({point})"


def claims() -> Iterator[Claim]:
    """Correlation of cycles with those of HDL, and the mean error."""
    points = f"{len(hdl())} points of figure 8"
    yield Claim(f"correlation of cycles with those of HDL, {points}", "0.99", _correlation, None, _columns)
    yield Claim(
        f"mean error of cycles against HDL, {points}",
        "",
        lambda results: f"{mean_error(results):.1%}",
        None,
        lambda results: (
            "The paper states the correlation alone, which a factor would leave as it is. Our fabric has an ideal "
            "memory here; Figure 8 below has DRAM beside it."
        ),
    )
    yield Claim(
        f"worst error of cycles against HDL, {points}",
        "",
        worst,
        None,
        lambda results: said(
            "A result leaves when most of its product is done, so large tiles are the worst.",
            max(errors(results), key=errors(results).__getitem__).endswith(f"x{COLUMNS[-1]}"),
        ),
    )


COLUMNS = (16, 256)
"""Of the narrowest and the widest tiles."""


def correlated(results: FigureRows) -> float:
    """The correlation of cycles with those of HDL."""
    return correlation([results.number("8", point) for point in hdl()], list(hdl().values()))


def _correlation(results: FigureRows) -> str:
    return f"{correlated(results):.3f}"


def _columns(results: FigureRows) -> str:
    found = errors(results)
    narrow, wide = ([each for point, each in found.items() if point.endswith(f"x{columns}")] for columns in COLUMNS)
    return said(
        f"Tiles of {COLUMNS[0]} columns are {span(narrow, '+.0%')} off, those of {COLUMNS[1]} columns "
        f"{span(wide, '+.0%')}: an operator loads or computes, and does not do both.",
        max(narrow) < 0 < min(wide),
    )
