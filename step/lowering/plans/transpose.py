"""Plan of making columns of rows."""

from __future__ import annotations

from step.language.function import Function
from step.language.types import Tile
from step.lowering.plans.plan import Application, Timing


def plan(function: Function, application: Application) -> Timing:
    """Wires: of a tile that is there as a whole; the words of a single row or column stay what they are."""
    (tile,) = application.inputs
    assert isinstance(tile, Tile)
    return Timing(1, 0, streams=1 in tile.shape)
