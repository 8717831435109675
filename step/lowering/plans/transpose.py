"""Plan of making columns of rows."""

from __future__ import annotations

from step.functions.transpose import Transpose
from step.lowering.plans.plan import Application, Wires


def plan(function: Transpose, application: Application) -> Wires:
    """Wires: of a tile that is there as a whole; the words of a single row or column stay what they are."""
    tile = application.words(0)
    if 1 in (tile.rows, tile.cols):
        return Wires.of(function, application, streams=True, word_bits=tile.word_bits)
    return Wires.of(function, application)
