"""Plots of runs by name, as files."""

from __future__ import annotations

from pathlib import Path

from step.host.figures import check_picture, drawn
from step.host.files import write_atomically, writing
from step.host.paths import named_file
from step.running.backend import Run
from step_show import plot as plots

PLOTS = {
    "bandwidth": (7, 4.5),
    "fifos": (7, 6),
    "occupancy": (7, 5.5),
    "roofline": (8.5, 4.5),
    "tokens_per_expert": (7, 4.5),
    "utilization": (7, 6),
}
"""Those of `step.plot` that are of a run, with their size in inches."""


def draw(name: str, run: Run, path: Path | str) -> None:
    """Draw ``step.plot.NAME`` of ``run`` to ``path`` (.svg, .png or .pdf); raises `InputError` for other files."""
    path = named_file(path, "a plot")
    check_picture(path)
    plot = getattr(plots, name)
    with writing(path):
        write_atomically(path, drawn(lambda figure: plot(run, ax=figure.add_subplot()), PLOTS[name], path.suffix[1:]))
