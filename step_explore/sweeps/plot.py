"""A sweep as a picture: the points in two objectives, and the front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from step.errors import InputError
from step.host.amounts import prefix
from step.host.figures import BLACK, BLUE, COLOURS, check_picture, drawn, in_counts, place_names
from step.host.files import write_atomically, writing
from step_explore.sweeps.front import costs, grouped, pareto_front
from step_explore.sweeps.row import Row

LABELS: Mapping[str, tuple[str, str]] = {
    "cycles": ("cycles", ""),
    "cycles_per_token": ("cycles per token", ""),
    "off_chip_bytes": ("off-chip traffic", "B"),
    "on_chip_bytes": ("on-chip memory", "B"),
    "channel_bytes": ("memory of the FIFOs", "B"),
    "load_bytes": ("queues of loads", "B"),
    "energy": ("energy", "J"),
    "lanes": ("lanes", ""),
    "lut_sites": ("area [LUTs]", ""),
}
"""What an objective is called on an axis, and its unit there; without one it is a count."""
PICO = 1e-12
STYLES: Mapping[bool, Mapping[str, Any]] = {False: {"marker": "o", "s": 32}, True: {"marker": "*", "s": 150}}
"""Points of static tiles, and of dynamic ones."""

Place = tuple[float, float]


def check_plot(path: Path, objectives: Sequence[str]) -> None:
    """Raise `InputError` for a file that is no picture and for fewer than two objectives, `EnvironmentProblem` where
    matplotlib is not installed."""
    check_picture(path)
    if len(objectives) < 2:
        raise InputError(f"a plot needs two objectives, as in {objectives[0]},channel_bytes")


def plot(rows: Sequence[Row], objectives: Sequence[str], title: str, form: str, per: Sequence[str] = ()) -> bytes:
    """`draw_front` as a picture, with colours by the first of ``per``; ``form`` is svg, png or pdf."""
    by = per[0] if per else None
    return drawn(lambda figure: draw_front(figure.add_subplot(), rows, objectives, title, by, per), (7, 4.5), form)


def draw_to(path: Path, rows: Sequence[Row], objectives: Sequence[str], title: str, per: Sequence[str] = ()) -> None:
    """Write `plot` to ``path`` as a whole; raises `InputError` where that can not be."""
    with writing(path):
        write_atomically(path, plot(rows, objectives, title, path.suffix[1:], per))


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
    places = {id(row): (cost[1], cost[0]) for row in rows if (cost := costs(row, (up, across))) is not None}
    scales = [_scale(name, [place[axis] for place in places.values()]) for axis, name in enumerate((across, up))]
    at = {key: (x / scales[0][0], y / scales[1][0]) for key, (x, y) in places.items()}
    axes.set(title=title, xlabel=scales[0][1], ylabel=scales[1][1])
    for axis, name in ((axes.xaxis, across), (axes.yaxis, up)):
        if not LABELS[name][1]:
            in_counts(axis)
    shown = [row for row in rows if id(row) in at]
    best = list[Row]()
    for number, group in enumerate(grouped(shown, per).values()):
        front = pareto_front(group, (up, across))
        best += front
        line = sorted({at[id(row)] for row in front})
        label = None if number else "front" + (f" of each {', '.join(map(_short, per))}" if per else "")
        axes.step([x for x, _ in line], [y for _, y in line], where="post", color=BLACK, linewidth=1, label=label)
    values = list(dict.fromkeys(row.point.get(by) for row in shown)) if by else [None]
    for number, value in enumerate(values):
        colour = _colour(number, len(values)) if by else BLUE
        for dynamic, style in STYLES.items():
            alike = [row for row in shown if bool(row.dynamic_tiles) == dynamic]
            points = [at[id(row)] for row in alike if by is None or row.point.get(by) == value]
            if points:
                label = f"{_short(by)}={value}, " if by else ""
                label += f"{'dynamic' if dynamic else 'static'} tiles"
                xs, ys = zip(*points, strict=True)
                axes.scatter(xs, ys, color=colour, edgecolor="white", linewidth=0.5, zorder=3, label=label, **style)
    axes.margins(0.08, 0.1)
    if at:
        axes.legend(frameon=False, fontsize=8)
    names: dict[Place, str] = {}
    for row in best:
        names.setdefault(at[id(row)], _name(row, rows))
    place_names(axes, names, at.values())
    return axes


def _colour(number: int, of: int) -> Any:
    """Number ``number`` of so many colours."""
    if of <= len(COLOURS):
        return COLOURS[number]
    from matplotlib import colormaps

    return colormaps["cividis"](number / (of - 1))


def _scale(objective: str, values: Sequence[float]) -> tuple[float, str]:
    """What to divide the values of ``objective`` by, and how the axis is called then."""
    name, unit = LABELS[objective]
    if not unit:
        return 1.0, name
    one = 1 / PICO if unit == "J" else 1.0
    scale, si = prefix(max(values, default=0) / one)
    return scale * one, f"{name} [{si}{unit}]"


def _name(row: Row, rows: Sequence[Row]) -> str:
    """The parameters of ``row`` that are not the same everywhere."""
    return ", ".join(f"{_short(name)}={value}" for name, value in row.point.items() if _differs(name, rows))


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _differs(name: str, rows: Sequence[Row]) -> bool:
    return len({each.point.get(name) for each in rows}) > 1
