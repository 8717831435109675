"""Figs. 9, 10, 19 and 20: cycles, or traffic, against on-chip memory, a panel per model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, str]]
TITLES = {"mixtral": "Mixtral-8x7B", "qwen": "Qwen3-30B-A3B"}
MEGA, GIGA = 1e6, 1e9


def cycles(figure: Any, rows: Rows) -> None:
    """Figs. 9 and 10."""
    _panels(figure, rows, "cycles", MEGA, "cycles [10⁶]")


def traffic(figure: Any, rows: Rows) -> None:
    """Figs. 19 and 20."""
    _panels(figure, rows, "off_chip_bytes", GIGA, "off-chip traffic [GB]")


def _panels(figure: Any, rows: Rows, column: str, unit: float, label: str) -> None:
    models = list(dict.fromkeys(row["point"].split()[0] for row in rows))
    for place, axes in enumerate(figure.subplots(1, len(models), squeeze=False)[0]):
        own = [row for row in rows if row["point"].startswith(f"{models[place]} ")]
        axes.set(xlabel="on-chip memory [MB]", ylabel=label, title=TITLES.get(models[place], models[place]))
        points = {row["point"].split()[1]: (_mega(row), int(row[column]) / unit) for row in own}
        dynamic = points.pop("dynamic", None)
        static = sorted(points.items(), key=lambda each: int(each[0]))
        if static:
            axes.plot(*zip(*(at for _, at in static), strict=True), "o--", label="static tiles, by rows")
        for rows_of_tile, at in static:
            axes.annotate(rows_of_tile, at, xytext=(5, 5), textcoords="offset points", fontsize=8)
        if dynamic:
            axes.plot(*dynamic, "*", markersize=12, label="dynamic tiles")
        axes.margins(x=0.1)
        axes.set_ylim(bottom=0)
        axes.legend()


def _mega(row: Mapping[str, str]) -> float:
    return int(row["on_chip_bytes"]) / MEGA
