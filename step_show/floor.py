"""Picture of a placed program: its units on the grid, and how many channels pass where."""

from __future__ import annotations

from typing import Any

from step.host.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from step_explore.placing.grid import MEMORY, NONE, PRODUCT, TRANSFER, VECTOR, Place
from step_explore.placing.placement import Placement

WIDEST = 6.0
"""Width in points of the line that most channels share, or as many as there are tracks."""

COLOURS = {PRODUCT: GREEN, VECTOR: SKY, MEMORY: PURPLE, TRANSFER: BLACK}
"""Colours of places for a kind of unit, behind them."""


def crowd(placement: Placement) -> str:
    """A line on the borders between two places where most channels pass."""
    most, tracks = max(placement.passing.values(), default=0), placement.grid.tracks
    full = sum(count == most for count in placement.passing.values())
    limit = "" if tracks is None else f" on {tracks:,} tracks"
    return f"at most {most:,} channels side by side{limit}, at {full:,} of the ways between places"


def floor(placement: Placement, ax: Any) -> None:
    """Draw the floor of ``placement`` to the axes ``ax``: places with the names of their units, and between two places
    a line as wide as channels pass there, red where all tracks are taken; dies are parted by dashes."""
    grid = placement.grid
    most = grid.tracks or max(placement.passing.values(), default=1)
    for ((x, y), (to_x, to_y)), count in placement.passing.items():
        colour = RED if count == grid.tracks else BLUE
        ax.plot([x, to_x], [y, to_y], color=colour, linewidth=WIDEST * count / most, alpha=0.6, zorder=1)
    units: dict[Place, list[str]] = {}
    for name, place in placement.places.items():
        units.setdefault(place, []).append(name)
    ax.scatter(*zip(*units, strict=True), marker="s", s=30, color=ORANGE, zorder=2)
    for letter in sorted({*"".join(grid.places)} - {NONE}):
        places = [(x, y) for y, row in enumerate(grid.places) for x, each in enumerate(row) if each == letter]
        ax.scatter(*zip(*places, strict=True), marker="s", s=90, color=COLOURS.get(letter, ORANGE), alpha=0.2, zorder=0)
    for die in grid.dies:
        ax.axhline(die - 0.5, color=BLACK, linestyle="--", linewidth=1, zorder=0)
    size = min(8, 40 / grid.columns)
    for (x, y), names in units.items():
        text = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        ax.annotate(text, (x, y), (0, 5), textcoords="offset points", ha="center", fontsize=size, zorder=3)
    ax.set(xlim=(-0.6, grid.columns - 0.4), ylim=(grid.rows - 0.4, -0.6), xlabel="column", ylabel="row", aspect="equal")
    ax.set_title(f"{placement.title};\n{crowd(placement)}")
