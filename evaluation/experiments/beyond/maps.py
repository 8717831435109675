"""Heat maps: a factor for every point of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from step.host.figures import drawn


@dataclass(frozen=True)
class Map:
    """``factors`` by row and column; ``rows`` and ``columns`` in their order. A point without a factor stays empty."""

    title: str
    row_label: str
    column_label: str
    rows: Sequence[float]
    columns: Sequence[float]
    factors: Mapping[tuple[float, float], float]

    @property
    def table(self) -> list[list[float]]:
        """A list per row; not a number where there is no factor."""
        return [[self.factors.get((row, column), float("nan")) for column in self.columns] for row in self.rows]


def picture(maps: Sequence[Map], across: int, form: str = "svg") -> bytes:
    """The ``maps``, so many ``across``, each with a scale of its own: white is 1, blue more, red less."""
    down = -(-len(maps) // across)
    return drawn(partial(_draw, maps=maps, across=across, down=down), (4.2 * across, 3.3 * down), form)


def _draw(figure: Any, maps: Sequence[Map], across: int, down: int) -> None:
    from matplotlib.colors import LogNorm

    for place, each in enumerate(maps, start=1):
        most = max([1.1, *each.factors.values(), *(1 / factor for factor in each.factors.values())])
        axes = figure.add_subplot(down, across, place)
        axes.set_title(each.title, fontsize=9)
        axes.set(xlabel=each.column_label, ylabel=each.row_label)
        shown = axes.imshow(each.table, cmap="RdBu", norm=LogNorm(1 / most, most), aspect="auto", origin="lower")
        ticks = [1 / most, most**-0.5, 1, most**0.5, most]
        figure.colorbar(shown, ax=axes, ticks=ticks, format="{x:.2f}").minorticks_off()
        axes.set_xticks(range(len(each.columns)), [f"{column:g}" for column in each.columns])
        axes.set_yticks(range(len(each.rows)), [f"{row:g}" for row in each.rows])
        for y, row in enumerate(each.rows):
            for x, column in enumerate(each.columns):
                if (factor := each.factors.get((row, column))) is not None:
                    far = max(factor, 1 / factor) > most**0.6
                    colour = "white" if far else "black"
                    axes.text(x, y, f"{factor:.2f}", ha="center", va="center", fontsize=8, color=colour)
