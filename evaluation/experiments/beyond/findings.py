"""Sentences on techniques that pay, made of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import geometric_mean

from experiments.beyond.arrivals import DEVIATIONS, LOADS
from experiments.beyond.factors import BALANCED, best_static, dynamic_regions, dynamic_tiles, shared_regions
from experiments.beyond.maps import Map
from experiments.beyond.mixtures import BATCHES, REGIONS, STATIC, experts
from experiments.rows import Row
from experiments.said import listed, said, span

NOTICED = 1.05
"""A factor from which on a technique pays: less is no reason to build it."""
LARGE = 256
"""A batch from which on tiles of dynamic size save traffic."""


def findings(mixtures: Sequence[Row], arrivals: Sequence[Row]) -> list[str]:
    """Sentences about what was run as a whole."""
    found = []
    if all(each.factors for each in (*dynamic_tiles(mixtures), *shared_regions(mixtures))):
        found += [_tiles(mixtures), _regions(mixtures)]
    if all(each.factors for each in dynamic_regions(arrivals)):
        found.append(_requests(arrivals))
    return found


def _tiles(rows: Sequence[Row]) -> str:
    maps = dict(zip(((model, height) for model in REGIONS for height in STATIC), dynamic_tiles(rows), strict=True))
    best = {model: best_static(rows, model) for model in REGIONS}
    small = max(max(maps[model, STATIC[0]].factors.values()) for model in REGIONS)
    even = {model: _mean(maps[model, BALANCED]) for model in REGIONS}
    lost = [
        f"{model}, batch {batch:g} with skew {skew:g}: {factor:.2f}"
        for model, each in best.items()
        for (batch, skew), (_, factor) in each.items()
        if factor >= NOTICED
    ]
    points = sum(len(each) for each in best.values())
    gained = {model: 1 / min(factor for _, factor in each.values()) for model, each in best.items()}
    memory = {model: _of_best(rows, model, "on_chip_bytes", BATCHES[-1]) for model in REGIONS}
    traffic = {model: _of_best(rows, model, "off_chip_bytes", LARGE) for model in REGIONS}
    return said(
        f"*Tiles of dynamic size* save the choice of a height more than they save time. Against tiles of {STATIC[0]} "
        f"rows they are up to {small:.1f} times as fast. Against tiles of {BALANCED} rows, where link and matmul are "
        f"balanced, they are as fast in the mean ({_by_model(even)}). Static tiles chosen for each point lose "
        f"{NOTICED - 1:.0%} or more in {len(lost)} of {points} points ({'; '.join(lost) or 'none'}), and gain up to "
        f"{_by_model(gained)} in others: an expert with a dynamic tile begins when it has all of its rows, without "
        f"overlap. At batch {BATCHES[-1]} the best static tiles need {_spans(memory)} times the on-chip memory. From "
        f"batch {LARGE} on they move {_spans(traffic, '.1f')} times as many bytes off chip, as they read weights once "
        "per tile.",
        len(lost) < points / 10,
        all(abs(each - 1) < NOTICED - 1 for each in even.values()),
        all(min(each) > 0.99 for each in traffic.values()),
    )


def _of_best(rows: Sequence[Row], model: str, column: str, least: int) -> list[float]:
    """A ``column`` of the best static tiles over that of dynamic ones, in all batches from the ``least`` on."""
    return [factor for (batch, _), (_, factor) in best_static(rows, model, column).items() if batch >= least]


def _regions(rows: Sequence[Row]) -> str:
    """Cycles on few regions over those on one for each expert."""
    shared = [(model, regions) for model, each in REGIONS.items() for regions in each]
    told, gains = [], dict[str, list[float]]()
    for (model, regions), each in zip(shared, shared_regions(rows), strict=True):
        slower = [experts(model) / regions / factor for factor in each.factors.values()]
        gains.setdefault(model, []).append(_mean(each))
        told.append(
            f"{regions} regions for {experts(model)} experts of {model} need {geometric_mean(slower):.2f} times the "
            f"cycles ({span(slower)})"
        )
    most = max(REGIONS, key=experts)
    return said(
        f"*Regions that experts share* pay most where experts are many: {'; '.join(told)}.",
        all(min(gains[most]) > max(each) for model, each in gains.items() if model != most),
    )


def _requests(rows: Sequence[Row]) -> str:
    coarse, interleaved = dynamic_regions(rows)
    lost = sorted(point for point, factor in coarse.factors.items() if factor < 1)
    most = [max(each.factors.values()) for each in (coarse, interleaved)]
    wide = {load: _wide(interleaved, (load,)) for load in LOADS}
    equal = [1 / interleaved.factors[DEVIATIONS[0], load] for load in LOADS]
    return said(
        f"*Dynamic regions for requests* pay against blocks ({_mean(coarse):.2f} in the mean, {most[0]:.2f} at most) "
        f"but at {_points(coarse, lost)}. Against interleaved ones they gain {_mean(interleaved):.2f} in the mean, and "
        f"{_wide(interleaved, LOADS):.2f} where the deviation of lengths is at least their mean ({most[1]:.2f} at "
        f"most): {wide[LOADS[0]]:.2f} at load {LOADS[0]:g}, and {wide[LOADS[-1]]:.2f} at load {LOADS[-1]:g}. With "
        f"equal lengths they take {span(equal[:-1])} times as long, and {equal[-1]:.1f} times at full load: each "
        "request takes longer, so a queue builds up earlier.",
        min(equal) > 1,
        _wide(interleaved, LOADS) > _mean(interleaved),
        wide[LOADS[-1]] > wide[LOADS[0]],
    )


def _wide(found: Map, loads: Sequence[float]) -> float:
    """The mean where lengths differ by their mean or more."""
    factors = [each for (deviation, load), each in found.factors.items() if load in loads and deviation >= 1]
    return geometric_mean(factors)


def _points(found: Map, points: Sequence[tuple[float, float]]) -> str:
    if not points:
        return "none of the points"
    named = (f"{found.row_label} {down:g} with {found.column_label} {across:g}" for down, across in points)
    return listed(f"{name} ({found.factors[point]:.2f})" for name, point in zip(named, points, strict=True))


def _mean(found: Map) -> float:
    return geometric_mean(found.factors.values())


def _by_model(values: Mapping[str, float]) -> str:
    return ", ".join(f"{value:.2f} for {model}" for model, value in values.items())


def _spans(values: Mapping[str, Sequence[float]], form: str = ".2f") -> str:
    return ", ".join(f"{span(each, form)} ({model})" for model, each in values.items())
