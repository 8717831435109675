"""The figures as pictures, in the paper's arrangement; matplotlib comes with ``pip install 'step-fabric[sweeps]'``."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from step.errors import EnvironmentProblem

Rows = Sequence[Mapping[str, str]]
MEGA = 1e6


def fronts(figure: Any, rows: Rows) -> None:
    """Figs. 9 and 10: cycles against on-chip memory, a panel per model; static tiles are joined."""
    models = list(dict.fromkeys(row["point"].split()[0] for row in rows))
    for place, model in enumerate(models, start=1):
        axes = figure.add_subplot(1, len(models), place, title=model)
        axes.set(xlabel="on-chip memory [MB]", ylabel="cycles [10⁶]")
        own = [row for row in rows if row["point"].startswith(f"{model} ")]
        static = [row for row in own if not row["point"].endswith("dynamic")]
        for label, some, line in (("static", static, "o--"), ("dynamic", [x for x in own if x not in static], "*")):
            points = sorted((int(row["on_chip_bytes"]) / MEGA, int(row["cycles"]) / MEGA) for row in some)
            if points:
                axes.plot(*zip(*points, strict=True), line, label=label)
        for row in static:
            at = (int(row["on_chip_bytes"]) / MEGA, int(row["cycles"]) / MEGA)
            axes.annotate(row["point"].split()[1], at, xytext=(4, 4), textcoords="offset points", fontsize=8)
        axes.set_ylim(bottom=0)
        axes.legend()


def bars(figure: Any, rows: Rows) -> None:
    """Figs. 14 and 15: cycles of each batch, a bar per arrangement."""
    names = [row["point"].rsplit(" ", 1) for row in rows]
    batches, kinds = (list(dict.fromkeys(column)) for column in zip(*names, strict=True))
    cycles = {row["point"]: int(row["cycles"]) for row in rows}
    axes = figure.add_subplot(ylabel="cycles")
    for number, kind in enumerate(kinds):
        places = [each + (number - (len(kinds) - 1) / 2) * 0.8 / len(kinds) for each in range(len(batches))]
        heights = [cycles.get(f"{batch} {kind}", 0) for batch in batches]
        axes.bar(places, heights, 0.8 / len(kinds), label=kind)
    axes.set_xticks(range(len(batches)), batches)
    axes.legend()


def regions(figure: Any, rows: Rows) -> None:
    """Fig. 12: cycles for each number of regions."""
    axes = figure.add_subplot(xlabel="regions", ylabel="cycles")
    for tiles in dict.fromkeys(row["point"].split()[0] for row in rows):
        own = [row for row in rows if row["point"].startswith(f"{tiles} ")]
        points = sorted((int(row["point"].split()[1]), int(row["cycles"])) for row in own)
        axes.plot(*zip(*points, strict=True), "o-", label=tiles)
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.legend()


DRAWN: dict[str, Callable[[Any, Rows], None]] = {"9": fronts, "10": fronts, "12": regions, "14": bars, "15": bars}


def plot(name: str, rows: Rows) -> bytes:
    """Figure ``name`` as SVG, the same for the same rows; raises `EnvironmentProblem` where matplotlib is missing."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(
            f"a plot needs the module {error.name}; install it with: pip install 'step-fabric[sweeps]'"
        ) from None

    settings: dict[str, Any] = {"svg.hashsalt": "step", "svg.fonttype": "none"}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(8, 4), layout="constrained")
        DRAWN[name](figure, rows)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
