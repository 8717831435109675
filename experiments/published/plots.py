"""The figures as pictures, made of their result files: ``python -m experiments.published.plots FOLDER``."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.published.claims import Row, number
from experiments.published.page import RESULTS, read


def main(arguments: Sequence[str]) -> None:
    """Write an SVG per figure into the folder named by the only argument."""
    import matplotlib
    from matplotlib.figure import Figure

    from step.host.files import write_atomically

    (folder,) = map(Path, arguments)
    for name, rows in read(RESULTS).items():
        if name == "fair":
            continue
        with matplotlib.rc_context({"svg.hashsalt": "step", "svg.fonttype": "none"}):
            figure = Figure(figsize=(9, 4), layout="constrained")
            (_front if name in ("9", "10") else _bars)(figure, rows)
            figure.suptitle(f"Figure {name}, on the published timing")
            write_atomically(folder / f"published_fig{name}.svg", _svg(figure))


def _svg(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _front(figure: Any, rows: Sequence[Row]) -> None:
    """Cycles over on-chip bytes, a plot per model; the dynamic point stands out."""
    models = list(dict.fromkeys(str(row["point"]).split()[0] for row in rows))
    for axes, model in zip(figure.subplots(1, len(models), squeeze=False)[0], models, strict=True):
        axes.set(title=model, xlabel="on-chip memory [MB]", ylabel="cycles [10⁶]")
        for row in rows:
            kind, tile = str(row["point"]).split()
            if kind == model:
                at = number(row["on_chip_bytes"]) / 1e6, number(row["cycles"]) / 1e6
                axes.plot(*at, "*" if tile == "dynamic" else "o", color="#e6975a" if tile == "dynamic" else "#4472a8")
                axes.annotate(tile, at, xytext=(5, 5), textcoords="offset points", fontsize=8)
        axes.margins(0.15)


def _bars(figure: Any, rows: Sequence[Row]) -> None:
    """Cycles of each point, and the published ones where they are known."""
    axes = figure.subplots()
    names = [str(row["point"]).removeprefix("conv_stdev") for row in rows]
    axes.bar(names, [number(row["cycles"]) for row in rows], color="#9dc3e6", label="reproduced")
    known = [
        (n, number(row["published_cycles"])) for n, row in zip(names, rows, strict=True) if row["published_cycles"]
    ]
    axes.plot([n for n, _ in known], [cycles for _, cycles in known], "_", color="#c0392b", ms=9, label="published")
    axes.set_ylabel("cycles")
    axes.tick_params(axis="x", rotation=90, labelsize=6 if len(rows) > 20 else 8)
    axes.legend()


if __name__ == "__main__":
    main(sys.argv[1:])
