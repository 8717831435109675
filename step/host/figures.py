"""Figures of matplotlib, which is an extra: axes for a plot, pictures as bytes, and how plots look."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from step.errors import InputError, needing

FORMATS = (".svg", ".png", ".pdf")

BLUE, ORANGE, GREEN, RED, SKY, PURPLE, BLACK = COLOURS = [
    f"#{each}" for each in ("0072B2", "E69F00", "009E73", "D55E00", "56B4E9", "CC79A7", "000000")
]
"""Colours that people with any colour vision tell apart: Okabe and Ito, https://jfly.uni-koeln.de/color/."""

Place = tuple[float, float]


def check_picture(path: Path) -> None:
    """Raise `InputError` for a file that is no picture, `EnvironmentProblem` where matplotlib is not installed."""
    if path.suffix not in FORMATS:
        raise InputError(f"a plot must go to a file that ends in {', '.join(FORMATS)}, not '{path}'")
    _matplotlib()


def drawn(draw: Callable[[Any], None], size: tuple[float, float], form: str = "svg") -> bytes:
    """Picture that ``draw`` draws into a figure of matplotlib, ``size`` in inches; the same bytes for the same drawing.

    ``form`` is svg, png or pdf. Raises `EnvironmentProblem` without matplotlib.
    """
    matplotlib = _matplotlib()
    from matplotlib import figure as figures

    with matplotlib.rc_context({"svg.hashsalt": "step", "svg.fonttype": "none", "pdf.fonttype": 42}):
        figure = figures.Figure(figsize=size, layout="constrained", dpi=150)
        draw(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=form, metadata={"Date": None} if form == "svg" else None)
    return buffer.getvalue()


def axes_for(ax: Any, size: tuple[float, float] = (7, 4.5)) -> Any:
    """``ax``, or without one the axes of a new figure, ``size`` in inches, which a notebook shows.

    Raises `EnvironmentProblem` without matplotlib.
    """
    _matplotlib()
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def in_counts(*axes: Any) -> None:
    """Ticks of ``axes`` (an x or a y axis each) as ``0``, ``200k``, ``1.5M``."""
    from matplotlib.ticker import EngFormatter

    for each in axes:
        each.set_major_formatter(EngFormatter(sep=""))


def place_names(axes: Any, names: Mapping[Place, str], marks: Iterable[Place]) -> None:
    """Write ``names`` beside their points where nothing else is: no other name, no point, none of the other ``marks``.

    One without room is left out.
    """
    axes.figure.draw_without_rendering()  # so that points have places
    middles = [axes.transData.transform(point) for point in (*names, *marks)]
    size = axes.figure.dpi / 72 * MARK
    inside = axes.bbox.padded(-size)
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    taken = [Bbox([middle - size, middle + size]) for middle in middles]
    for point, name in names.items():
        for away, side, above in PLACES:
            line = {"arrowstyle": "-", "linewidth": 0.4, "color": "#888888", "shrinkA": 0, "shrinkB": 3}
            style = {"textcoords": "offset points", "fontsize": 7, "arrowprops": line, "zorder": 2}
            text = axes.annotate(name, point, xytext=away, ha=side, va=above, **style)
            text.get_window_extent()  # which puts it in its place
            box = Text.get_window_extent(text)  # without the line
            if all(inside.contains(*corner) for corner in box.corners()) and not box.count_overlaps(taken):
                taken.append(box)
                break
            text.remove()


MARK = 3
"""From the middle of a point to its edge, in points of 1/72 inch."""

PLACES = tuple(
    ((side * (4 + far), above * (4 + far)), "left" if side > 0 else "right", "bottom" if above > 0 else "top")
    for far in (0, 6, 14)
    for side, above in ((1, 1), (-1, -1), (-1, 1), (1, -1))
)
"""Places where a name may stand: the offset from its point, and which side of it is there."""


def _matplotlib() -> Any:
    with needing("a plot", "plots"):
        import matplotlib
    return matplotlib
