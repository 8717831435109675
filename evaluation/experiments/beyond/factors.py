"""Factors of the studies: the gain of one technique over another, for every point of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.beyond.arrivals import DEVIATIONS, LOADS
from experiments.beyond.maps import Map
from experiments.beyond.mixtures import BATCHES, DYNAMIC, REGIONS, SHARED_ROWS, SKEWS, STATIC, experts
from experiments.rows import Row
from step_models.fabrics import PUBLISHED

Grid = dict[tuple[float, float], float]

BALANCED = PUBLISHED.matmul_lanes * 2 // PUBLISHED.link_bytes
"""Rows of a tile with which a matmul takes as long as its link for weights."""


def dynamic_tiles(rows: Sequence[Row]) -> list[Map]:
    """Cycles with static tiles of each height over those with dynamic ones, for each model."""
    return [
        _mixtures(
            f"{model}, {experts(model)} experts: tiles of {height} rows\ncycles, relative to dynamic tiles",
            _grid(rows, "cycles", model=model, tiles=height, regions=experts(model)),
            _grid(rows, "cycles", model=model, tiles=DYNAMIC, regions=experts(model)),
        )
        for model in REGIONS
        for height in STATIC
    ]


def best_static(
    rows: Sequence[Row], model: str, column: str = "cycles"
) -> dict[tuple[float, float], tuple[int, float]]:
    """The height of the static tiles that need the fewest cycles, and their ``column`` over that of dynamic tiles."""
    cycles = {height: _grid(rows, "cycles", model=model, tiles=height, regions=experts(model)) for height in STATIC}
    wanted = {height: _grid(rows, column, model=model, tiles=height, regions=experts(model)) for height in STATIC}
    dynamic = _grid(rows, column, model=model, tiles=DYNAMIC, regions=experts(model))
    found = {}
    for point, value in dynamic.items():
        there = [height for height in STATIC if point in cycles[height]]
        if there:
            best = min(there, key=lambda height: cycles[height][point])
            found[point] = best, wanted[best][point] / value
    return found


def shared_regions(rows: Sequence[Row]) -> list[Map]:
    """Cycles on as many regions as experts over those on fewer, times how many fewer: what each region gains."""
    return [
        _mixtures(
            f"{model}, {regions} regions for {experts(model)} experts\nwork of a region, relative to one of each",
            _grid(rows, "cycles", model=model, tiles=SHARED_ROWS, regions=experts(model)),
            _grid(rows, "cycles", model=model, tiles=SHARED_ROWS, regions=regions),
            experts(model) / regions,
        )
        for model, shared in REGIONS.items()
        for regions in shared
    ]


def dynamic_regions(rows: Sequence[Row]) -> list[Map]:
    """The time that a request takes where regions are given in advance, over that where the next free one takes it."""
    dynamic = _grid(rows, "latency", "deviation", "load", arrangement="dynamic")
    return [
        Map(
            f"{arrangement}: time of a request\nrelative to dynamic regions",
            "deviation of lengths",
            "load",
            DEVIATIONS,
            LOADS,
            _over(_grid(rows, "latency", "deviation", "load", arrangement=arrangement), dynamic),
        )
        for arrangement in ("coarse", "interleaved")
    ]


def _mixtures(title: str, first: Grid, second: Grid, factor: float = 1.0) -> Map:
    return Map(title, "batch", "skew", BATCHES, SKEWS, _over(first, second, factor))


def _over(first: Grid, second: Grid, factor: float = 1.0) -> Grid:
    return {point: factor * first[point] / second[point] for point in first if point in second}


def drawn_with(rows: Sequence[Row], seed: int) -> list[Row]:
    """The rows of one draw."""
    return [row for row in rows if row["seed"] == str(seed)]


def _grid(rows: Sequence[Row], column: str, down: str = "batch", across: str = "skew", **where: object) -> Grid:
    """The values of a column, by two others, of the rows in which all that ``where`` names is so."""
    wanted: Mapping[str, str] = {name: str(value) for name, value in where.items()}
    return {
        (float(row[down]), float(row[across])): float(row[column])
        for row in rows
        if all(row[name] == value for name, value in wanted.items())
    }
