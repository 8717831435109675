"""Timing of functions that make one scalar of every row."""

from __future__ import annotations

from sim_approx.functions.elementwise import rounding
from sim_approx.timing import Timing
from step.functions.row import RowSum
from step.language.function import Function
from step.language.types import Tile
from step.lowering.application import Application
from step.lowering.links import beats


def timing(function: Function, application: Application) -> Timing:
    """Of a row of C columns, ceil(log2 C) levels, at least one, of `FabricConfig.stages` cycles for a sum of floating
    point numbers, else of one.

    On V = `vector_lanes` lanes a group is folded in a cycle: a power of two of scalars of a row, or several rows. Of
    the lanes that reach the shortest interval the fewest are taken. Groups that are no words wait until their last word
    is there; results wait until the words that they become can leave without a gap.
    """
    tile, result, fabric = application.inputs[0], application.result, application.fabric
    assert isinstance(tile, Tile) and isinstance(result, Tile)
    (rows, cols), link = tile.shape, fabric.link_bytes
    levels, words = max(1, (cols - 1).bit_length()), max(beats(tile, link), beats(result, link))
    shapes = [(1, 1 << bits) for bits in range(levels + 1)] + [(down, 1 << levels) for down in range(2, rows + 1)]
    interval, used, down, across = min(
        (max(words, -(-rows // down) * -(-cols // across)), down * min(cols, across), down, across)
        for down, across in shapes
        if down * min(cols, across) <= fabric.vector_lanes
    )
    parts = -(-cols // across)
    groups = -(-rows // down) * parts

    in_order, word_bits = parts == 1 or cols % across == 0, min(8 * link, tile.bits)
    before = 0
    if beats(tile, link) != groups or not in_order or used * tile.dtype.bits != word_bits:
        for group in range(groups):
            row, col = min(rows, (group // parts + 1) * down) - 1, min(cols, (group % parts + 1) * across) - 1
            last_word = ((row * cols + col + 1) * tile.dtype.bits - 1) // (8 * link)
            before = max(before, 1 + last_word - group)
    behind = 0
    for word in range(beats(result, link)):
        row = (min((word + 1) * 8 * link, result.bits) - 1) // result.dtype.bits
        behind = max(behind, (row // down + 1) * parts - word)

    sums = isinstance(function, RowSum) and tile.dtype.is_float
    cycles = levels * (fabric.stages if sums else 1) + (rounding(application) if sums else 0)
    return Timing(interval, before + cycles + behind, streams=True)
