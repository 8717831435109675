"""Timing of making columns of rows."""

from __future__ import annotations

from sim_approx.timing import Timing
from step.functions.transpose import Transpose
from step.language.types import Tile
from step.lowering.application import Application


def timing(function: Transpose, application: Application) -> Timing:
    """Wires: of a tile that is there as a whole; the words of a single row or column stay what they are."""
    (tile,) = application.inputs
    assert isinstance(tile, Tile)
    return Timing(1, 0, streams=1 in tile.shape)
