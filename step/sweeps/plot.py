"""A sweep as a picture: the points in two objectives, and the front."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from step.errors import EnvironmentProblem, InputError
from step.programs.metrics import UNITS
from step.sweeps.front import costs, pareto_front
from step.sweeps.row import Row

FORMATS = (".svg", ".png", ".pdf")


def check_plot(path: Path, objectives: Sequence[str]) -> None:
    """Raise `InputError` for a file that is no picture and for fewer than two objectives, `EnvironmentProblem` where
    matplotlib is not installed."""
    if path.suffix not in FORMATS:
        raise InputError(f"a plot must go to a file that ends in {', '.join(FORMATS)}, not '{path}'")
    if len(objectives) < 2:
        raise InputError(f"a plot needs two objectives, as in {objectives[0]},channel_bytes")
    _matplotlib()


def plot(rows: Sequence[Row], objectives: Sequence[str], title: str, form: str) -> bytes:
    """``rows`` in the first two of ``objectives``, with the front of these two; ``form`` is svg, png or pdf.

    The points of the front are labelled with their parameters, as far as these differ between rows.
    """
    across, up = objectives[1], objectives[0]

    def draw(figure: Any) -> None:
        axes = figure.add_subplot(title=title, xlabel=_label(across), ylabel=_label(up))
        known = [cost for row in rows if (cost := costs(row, (across, up))) is not None]
        axes.scatter(*_columns(known), color="#9dc3e6", label="points")
        front = pareto_front(rows, (across, up))
        best = [cost for row in front if (cost := costs(row, (across, up))) is not None]
        axes.step(*_columns(best), where="post", color="#e6975a", marker="o", label="front")
        middle = sum(each[0] for each in (min(best), max(best))) / 2 if best else 0
        for row, cost in zip(front, best, strict=True):
            # Beyond the middle on the side of the front where no point can be, so that names stay inside.
            away, side, above = (4, "left", "bottom") if cost[0] <= middle else (-4, "right", "top")
            text = {"xytext": (away, away), "textcoords": "offset points", "ha": side, "va": above, "fontsize": 7}
            axes.annotate(_name(row, rows), cost, **text)
        axes.legend()

    return drawn(draw, (7, 4.5), form)


def drawn(draw: Callable[[Any], None], size: tuple[float, float], form: str = "svg") -> bytes:
    """What ``draw`` draws into a figure of matplotlib, ``size`` in inches; the same where it draws the same.

    Raises `EnvironmentProblem` without matplotlib.
    """
    matplotlib, figures = _matplotlib()
    with matplotlib.rc_context({"svg.hashsalt": "step", "svg.fonttype": "none", "pdf.fonttype": 42}):
        figure = figures.Figure(figsize=size, layout="constrained")
        draw(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=form, metadata={"Date": None} if form == "svg" else None)
    return buffer.getvalue()


def _columns(costs: Sequence[tuple[int, ...]]) -> tuple[list[int], list[int]]:
    return [each[0] for each in costs], [each[1] for each in costs]


def _label(objective: str) -> str:
    unit = UNITS.get(objective)
    return f"{objective} [{unit}]" if unit else objective


def _name(row: Row, rows: Sequence[Row]) -> str:
    """The parameters of ``row`` that are not the same everywhere."""
    parts = [f"{name.rpartition('.')[2]}={value}" for name, value in row.point.items() if _differs(name, rows)]
    return ", ".join(parts)


def _differs(name: str, rows: Sequence[Row]) -> bool:
    return len({each.point[name] for each in rows}) > 1


def _matplotlib() -> tuple[Any, Any]:
    try:
        import matplotlib
        from matplotlib import figure
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(
            f"a plot needs the module {error.name}; install it with: pip install 'step-fabric[sweeps]'"
        ) from None
    return matplotlib, figure
