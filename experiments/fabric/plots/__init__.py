"""The figures as pictures, in the paper's arrangement; matplotlib comes with ``pip install 'step-fabric[sweeps]'``."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments.fabric.plots import bars, curves, fronts
from step.errors import EnvironmentProblem

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
