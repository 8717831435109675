"""Picture of a placed program: its units on the grid, and how many channels pass where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from step.host.figures import BLUE, ORANGE
from step.lowering.netlist import Channel
from step_explore.placing.placement import Place, Placement

WIDEST = 6.0
"""Width in points of the line that most channels share."""


def floor(placement: Placement, ax: Any) -> None:
    """Draw the floor of ``placement`` to the axes ``ax``: places with the names of their units, and between two places
    a line as wide as channels pass there, which go along their column last."""
    columns, rows = placement.grid
    passing = Counter(step for each in placement.netlist.channels for step in _steps(placement, each))
    most = max(passing.values(), default=1)
    for ((x, y), (to_x, to_y)), count in passing.items():
        ax.plot([x, to_x], [y, to_y], color=BLUE, linewidth=WIDEST * count / most, alpha=0.6, zorder=1)
    units: dict[Place, list[str]] = {}
    for name, place in placement.places.items():
        units.setdefault(place, []).append(name)
    ax.scatter(*zip(*units, strict=True), marker="s", s=30, color=ORANGE, zorder=2)
    size = min(8, 40 / columns)
    for (x, y), names in units.items():
        text = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        ax.annotate(text, (x, y), (0, 5), textcoords="offset points", ha="center", fontsize=size, zorder=3)
    ax.set(xlim=(-0.6, columns - 0.4), ylim=(rows - 0.4, -0.6), xlabel="column", ylabel="row", aspect="equal")
    ax.set_title(f"{placement.title}, at most {most} channels side by side")


def _steps(placement: Placement, channel: Channel) -> Iterator[tuple[Place, Place]]:
    """The steps from place to place of ``channel``, each with its first place first."""
    (x, y), (to_x, to_y) = (placement.places[end] for end in (channel.producer[0], channel.consumer[0]))
    across = [(each, y) for each in range(x, to_x, 1 if to_x > x else -1)]
    down = [(to_x, each) for each in range(y, to_y, 1 if to_y > y else -1)]
    return (tuple(sorted(step)) for step in pairwise([*across, *down, (to_x, to_y)]))  # type: ignore[misc]
