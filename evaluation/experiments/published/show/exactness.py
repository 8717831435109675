"""The distance of our cycles from the published ones, and the least that is possible."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.published.recorded import spread
from experiments.published.show.results import FigureRows, Missing, Row
from experiments.said import listed, said, span

ATTENTION, MIXTURES = ("14", "15", "21"), ("9", "10", "12")
VALIDATION, BESIDE = "8", "beside"
NEAR, WITHIN = 10, 0.007
"""Cycles within which a run is as good as equal; the error up to which none is named."""


def known(results: FigureRows, *figures: str) -> list[Row]:
    """Points with published cycles; raises `Missing` where a figure has none."""
    rows = [row for figure in figures for row in results.points(figure).values() if row["published_cycles"]]
    if any(not results.points(figure) for figure in figures):
        raise Missing(f"figures {listed(figures)}")
    return rows


def ratio(row: Row) -> float:
    """Ours over the published ones, less one."""
    return int(row["cycles"]) / float(row["published_cycles"]) - 1


def late(row: Row) -> float:
    """Cycles that the published count has more."""
    return float(row["published_cycles"]) - int(row["cycles"])


def text(results: FigureRows) -> str:
    """All of it; raises `Missing`."""
    return "\n".join(f"* {each}" for each in (_attention(results), _validation(results), *_mixtures(results), _exact()))


def _attention(results: FigureRows) -> str:
    rows = known(results, *ATTENTION)
    more = sum(late(row) == 1 for row in rows)
    return said(
        f"**Attention** (Figures {listed(ATTENTION)}). All {len(rows)} runs whose cycles are published take exactly as "
        f"many here; in {more} of them the published count has one more, as the result files count the end of the "
        "memory's own thread.",
        all(late(row) in (0, 1) for row in rows),
    )


def _validation(results: FigureRows) -> str:
    rows = known(results, VALIDATION)
    return said(
        f"**Validation** (Figure {VALIDATION}). All {len(rows)} published points of the simulator are equal.",
        all(late(row) == 0 for row in rows),
    )


def _mixtures(results: FigureRows) -> Iterator[str]:
    """Points at which experts share memory."""
    rows = known(results, *MIXTURES)
    near = sum(abs(late(row)) <= NEAR for row in rows)
    far = [row for row in rows if abs(ratio(row)) > WITHIN]
    most = max(abs(ratio(row)) for row in rows if row not in far)
    named = [f"`{row['point']}` ({ratio(row):+.1%})" for row in far]
    but = f" but {listed(named)}" if far else ""
    yield (
        f"**Mixtures** (Figures {listed(MIXTURES)}). Of {len(rows)} points with published cycles, some of them read "
        f"off a plot, {near} are within {NEAR} cycles, and all{but} within {most:.1%}. Experts share memory, so a "
        "cycle at the start changes all that comes after, and one thing the artifact leaves to chance: whether a "
        "context that waits has seen the last cycle of its sender when that ends."
    )
    beside = known(results, BESIDE)
    ratios = ", ".join(f"`{row['point']}` {ratio(row):+.2%}" for row in beside)
    yield (
        f"**Beside the figures**. The artifact has {len(beside)} more runs, which the paper does not show or shows "
        f"with another number: {ratios}."
    )


def _exact() -> str:
    apart = spread()
    return (
        f"**How exact anything can be**. {len(apart)} graphs the artifact ran twice, and its own runs are "
        f"{span(apart, '.2%')} apart. So no model of it can be more exact than that where experts share memory."
    )
