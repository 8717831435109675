"""The share of the draw in the findings: factors of the points that were drawn again, with every seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import geometric_mean

from experiments import intervals
from experiments.beyond.factors import drawn_with, dynamic_regions, dynamic_tiles, shared_regions
from experiments.beyond.maps import Map
from experiments.rows import Row
from experiments.said import span

Study = Callable[[Sequence[Row]], list[Map]]

HEAD = (
    f"| | seeds | points | mean of each seed | mean, {intervals.CONFIDENCE:.0%} interval | largest spread of a point |",
    "|---|---:|---:|---:|---:|---:|",
)


def table(mixtures: Sequence[Row], arrivals: Sequence[Row]) -> str:
    """A line for each map; empty where there is one seed."""
    lines = []
    for study, rows in ((dynamic_tiles, mixtures), (shared_regions, mixtures), (dynamic_regions, arrivals)):
        lines += _lines(study, rows)
    return "\n".join([*HEAD, *lines]) if lines else ""


def _lines(study: Study, rows: Sequence[Row]) -> list[str]:
    seeds = sorted({int(row["seed"]) for row in rows})
    maps = list(zip(*(study(drawn_with(rows, seed)) for seed in seeds), strict=True)) if len(seeds) > 1 else []
    lines = []
    for draws in maps:
        points = set.intersection(*(set(each.factors) for each in draws))
        if not points:
            continue
        means = [geometric_mean(each.factors[point] for point in points) for each in draws]
        apart = {point: [each.factors[point] for each in draws] for point in points}
        widest = max(apart.values(), key=lambda each: max(each) / min(each))
        cells = (
            draws[0].title.replace("\n", ", "),
            f"{len(seeds)}",
            f"{len(points)}",
            span(means),
            intervals.told(means),
            span(widest),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines
