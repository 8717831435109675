"""The figures as pictures, in the paper's arrangement; matplotlib comes with ``pip install 'step-fabric[sweeps]'``."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.fabric.figures import SHOWN
from experiments.fabric.plots import bars, curves, fronts
from experiments.fabric.record import CAMPAIGN
from experiments.fabric.tables import published
from step.errors import EnvironmentProblem
from step.host.files import write_atomically

Rows = Sequence[Mapping[str, str]]

DRAWN: dict[str, Callable[[Any, Rows], None]] = {
    "8": curves.validation,
    "9": fronts.cycles,
    "10": fronts.cycles,
    "12": curves.regions,
    "13": curves.resources,
    "14": bars.gains,
    "15": bars.batches,
    "17": bars.layers,
    "19": fronts.traffic,
    "20": fronts.traffic,
    "21": bars.means_of_batches,
}


SOURCES = {**{shown: (of,) for shown, of in SHOWN.items()}, "21": ("14", "21")}
"""Of figures that show points of others."""


def plot(name: str, rows: Rows, form: str = "svg") -> bytes:
    """Figure ``name`` of its ``rows``; see `drawn`."""
    return drawn(lambda figure: DRAWN[name](figure, rows), form)


def drawn(draw: Callable[[Any], None], form: str = "svg", size: tuple[float, float] = (8, 4)) -> bytes:
    """The matplotlib figure that ``draw`` draws, ``size`` in inches, the same whenever it draws the same.

    Raises `EnvironmentProblem` where matplotlib is missing.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(
            f"a plot needs the module {error.name}; install it with: pip install 'step-fabric[sweeps]'"
        ) from None

    settings: dict[str, Any] = {"svg.hashsalt": "step", "svg.fonttype": "none"}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=form, metadata={"Date": None} if form == "svg" else None)
    return buffer.getvalue()


def draw(results: Path, folder: Path, figures: Sequence[str]) -> None:
    """``figures``, all that were run if there are none, as files in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in figures or DRAWN:
        if rows := gathered(results, name):
            write_atomically(folder / f"fabric_fig{name}.svg", plot(name, rows))


def gathered(results: Path, name: str) -> Rows:
    """The rows of a figure; beside those of Fig. 8 the cycles of the published timing."""
    rows = [row for each in SOURCES.get(name, (name,)) for row in CAMPAIGN.read(results, each)]
    known = published(name, results) if name == "8" else {}
    return [row | {"published": known[row["point"]]["cycles"]} if row["point"] in known else row for row in rows]
