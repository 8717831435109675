"""Timing of functions that join or split tiles."""

from __future__ import annotations

from sim_approx.timing import Timing
from step.functions.retile import RetileRow, RetileStreamify
from step.language.function import Function
from step.language.types import Tile
from step.lowering.application import Application
from step.lowering.links import beats


def timing(function: Function, application: Application) -> Timing:
    """Joining one behind the other takes whole words, or whole parts of a word, as they come; the result leaves one
    cycle behind the last tile's first word. Other tiles have to be there as a whole.

    To split, pieces are read where they lie if that is a row of words, or of pieces in a word. Else the whole tile has
    to be there.
    """
    tile, piece, link = application.inputs[0], application.result, application.fabric.link_bytes
    assert isinstance(tile, Tile)
    if not isinstance(function, RetileStreamify):
        lines = 1 if isinstance(function, RetileRow) else tile.shape[0]
        wide, narrow = max(8 * link, tile.bits), min(8 * link, tile.bits)
        if lines == 1 and (wide % narrow == 0 or beats(piece, link) == 1):
            return Timing(-(-tile.bits // (8 * link)), 1, streams=True)
        return Timing(1, 1)
    in_rows = function.axis == "row" or tile.shape[0] == 1
    in_place = in_rows and (piece.bits % (8 * link) == 0 or 8 * link % piece.bits == 0)
    words = beats(tile, link)
    if piece.is_control and not tile.is_control:  # the header of a piece waits for the whole tile
        return Timing(-(-piece.bits // (8 * link)), words + 1)
    return Timing(beats(piece, link), 0 if words == 1 or in_place else words)
