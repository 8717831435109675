"""A sweep as a picture: the points in two objectives, and the front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from step.errors import InputError
from step.host.amounts import prefix
from step.host.figures import BLACK, BLUE, COLOURS, drawn, in_counts, place_names
from step.host.files import write_atomically, writing
from step_explore.sweeps.front import costs, grouped, pareto_front
from step_explore.sweeps.row import NUMBERS, Row

STYLES: Mapping[bool, Mapping[str, Any]] = {False: {"marker": "o", "s": 32}, True: {"marker": "*", "s": 150}}
"""Points of static tiles, and of dynamic ones."""


def check_two(objectives: Sequence[str]) -> None:
    """Raise `InputError` for fewer than two objectives."""
    if len(objectives) < 2:
        raise InputError(f"a plot needs two objectives, as in {objectives[0]},channel_bytes")


def draw_to(path: Path, rows: Sequence[Row], objectives: Sequence[str], title: str, per: Sequence[str] = ()) -> None:
    """Write `draw_front` to ``path`` as a whole, with colours by the first of ``per``; raises `InputError` where that
    can not be."""
    by = per[0] if per else None
    with writing(path):
        form = path.suffix[1:]
        picture = drawn(lambda it: draw_front(it.add_subplot(), rows, objectives, title, by, per), (7, 4.5), form)
        write_atomically(path, picture)


def draw_front(
    axes: Any,
    rows: Sequence[Row],
    objectives: Sequence[str],
    title: str,
    by: str | None = None,
    per: Sequence[str] = (),
) -> Any:
    """The points of ``rows``, those of dynamic tiles as stars, and the front of each value of the parameters ``per``;
    ``by``: colours by that parameter."""
    up, across = objectives[:2]
    shown = [row for row in rows if costs(row, (up, across)) is not None]
    axes.set_title(title)
    xs, ys = _numbers(axes.xaxis, across, shown), _numbers(axes.yaxis, up, shown)
    at = dict(zip(map(id, shown), zip(xs, ys, strict=True), strict=True))
    names: dict[tuple[float, float], str] = {}
    for number, group in enumerate(grouped(shown, per).values()):
        front = pareto_front(group, (up, across))
        label = None if number else "front" + (f" of each {', '.join(map(_short, per))}" if per else "")
        line = zip(*sorted({at[id(row)] for row in front}), strict=True)
        axes.step(*line, where="post", color=BLACK, linewidth=1, label=label)
        for row in front:
            names.setdefault(at[id(row)], _name(row, rows))
    colours = _colours(dict.fromkeys(row.point.get(by) for row in shown)) if by else {None: BLUE}
    for value, colour in colours.items():
        for dynamic, style in STYLES.items():
            same = (row for row in shown if row.point.get(by or "") == value)
            points = [at[id(row)] for row in same if bool(row.dynamic_tiles) == dynamic]
            if points:
                label = (f"{_short(by)}={value}, " if by else "") + f"{'dynamic' if dynamic else 'static'} tiles"
                look = {"color": colour, "edgecolor": "white", "linewidth": 0.5, "zorder": 3, "label": label, **style}
                axes.scatter(*zip(*points, strict=True), **look)
    axes.margins(0.08, 0.1)
    if at:
        axes.legend(frameon=False, fontsize=8)
    place_names(axes, names, at.values())
    return axes


def _colours(values: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A colour for each of ``values``."""
    if len(values) <= len(COLOURS):
        return dict(zip(values, COLOURS, strict=False))
    from matplotlib import colormaps

    return {value: colormaps["cividis"](at / (len(values) - 1)) for at, value in enumerate(values)}


def _numbers(axis: Any, objective: str, rows: Sequence[Row]) -> list[float]:
    """The numbers of ``rows`` for ``objective`` on ``axis``, which gets its name."""
    measure, scale, label = NUMBERS[objective], 1.0, NUMBERS[objective].label
    values = [getattr(row, objective) for row in rows]
    if measure.unit:
        size, si = prefix(max(values, default=0) * measure.scale)
        scale, label = size / measure.scale, f"{label} [{si}{measure.unit}]"
    else:
        in_counts(axis)
    axis.set_label_text(label)
    return [value / scale for value in values]


def _name(row: Row, rows: Sequence[Row]) -> str:
    """The parameters of ``row`` that are not the same everywhere."""
    several = [name for name in row.point if len({each.point.get(name) for each in rows}) > 1]
    return ", ".join(f"{_short(name)}={row.point[name]}" for name in several)


def _short(name: str) -> str:
    return name.rpartition(".")[2]
