"""The ways of scalars through a matrix product: from words to lanes, and from lanes to words."""

from __future__ import annotations

from collections.abc import Iterator

from hw.functions.corner_turn import Move
from step.lowering.plans.matmul_plan import MatmulPlan
from step.lowering.plans.words import Words


def operand_moves(plan: MatmulPlan, port: int) -> tuple[Move, ...]:
    """From the words of an operand to its ``block_rows`` x ``terms`` scalars of a cycle, or to its ``block_cols`` x
    ``terms`` where it is the right one; a step is (row or column block, step of k)."""
    shape, tile, inner = plan.arrangement, plan.operands[port], plan.operands[0].cols
    rows, cols = (shape.rows, shape.block_rows, shape.row_blocks), (shape.cols, shape.block_cols, shape.col_blocks)
    extent, size, blocks = cols if port else rows
    moves: list[Move] = []
    for at in range(extent):
        block, lane = divmod(at, size)
        for k in range(inner):
            step, term = divmod(k, plan.terms)
            scalar = k * extent + at if port and not plan.transposed else at * inner + k
            moves += _out_of_words(scalar, tile, block + (step << _width(blocks)), lane * plan.terms + term)
    return tuple(moves)


def result_moves(plan: MatmulPlan) -> tuple[Move, ...]:
    """From the sums of a block, which is a step, to the words of the result."""
    shape = plan.arrangement
    moves: list[Move] = []
    for i in range(shape.rows):
        for j in range(shape.cols):
            block = i // shape.block_rows * shape.col_blocks + j // shape.block_cols
            lane = i % shape.block_rows * shape.block_cols + j % shape.block_cols
            moves += [each.back() for each in _out_of_words(i * shape.cols + j, plan.result, block, lane)]
    return tuple(moves)


def item_bits(tile: Words) -> int:
    """Bits of what moves: a scalar, or a word where that is narrower."""
    return min(tile.dtype.bits, tile.word_bits)


def _out_of_words(scalar: int, tile: Words, step: int, port: int) -> Iterator[Move]:
    """The way of a scalar out of the words of a tile; in several pieces where words are narrower than scalars."""
    width = item_bits(tile)
    pieces, per_word = tile.dtype.bits // width, tile.word_bits // width
    for piece in range(pieces):
        word, place = divmod(scalar * pieces + piece, per_word)
        yield Move(word, place, step, port * pieces + piece)


def _width(extent: int) -> int:
    """Bits of a `hw.primitives.timing.counter`."""
    return max(1, (extent - 1).bit_length())
