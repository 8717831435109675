"""The ways of scalars through a matrix product: from words to lanes, and from lanes to words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from hw.functions.corner_turn import Move, moves_of
from step.lowering.plans.matmul_plan import MatmulPlan
from step.lowering.plans.words import Words


def operand_moves(plan: MatmulPlan, port: int) -> tuple[Move, ...]:
    """From the words of an operand to its ``block_rows`` x ``terms`` scalars of a cycle, or to its ``block_cols`` x
    ``terms`` where it is the right one; a step is (row or column block, step of k)."""
    shape, inner, terms = plan.arrangement, plan.operands[0].cols, plan.terms
    rows, cols = (shape.rows, shape.block_rows, shape.row_blocks), (shape.cols, shape.block_cols, shape.col_blocks)
    extent, size, blocks = cols if port else rows
    bits = max(1, (blocks - 1).bit_length())  # as a `hw.primitives.timing.counter` has

    def way(at: int, k: int) -> tuple[int, int]:
        (block, lane), (step, term) = divmod(at, size), divmod(k, terms)
        scalar = k * extent + at if port and not plan.transposed else at * inner + k
        return scalar, ((block + (step << bits)) * size + lane) * terms + term

    ways = (way(*each) for each in product(range(extent), range(inner)))
    return _out_of_words(ways, plan.operands[port], size * terms)


def result_moves(plan: MatmulPlan) -> tuple[Move, ...]:
    """From the sums of a block, which is a step, to the words of the result."""
    shape = plan.arrangement

    def way(i: int, j: int) -> tuple[int, int]:
        (down, row), (across, col) = divmod(i, shape.block_rows), divmod(j, shape.block_cols)
        block, lane = down * shape.col_blocks + across, row * shape.block_cols + col
        return i * shape.cols + j, block * shape.lanes + lane

    ways = (way(*each) for each in product(range(shape.rows), range(shape.cols)))
    return tuple(each.back() for each in _out_of_words(ways, plan.result, shape.lanes))


def item_bits(tile: Words) -> int:
    """Bits of what moves: a scalar, or a word where that is narrower."""
    return min(tile.dtype.bits, tile.word_bits)


def _out_of_words(ways: Iterable[tuple[int, int]], tile: Words, ports: int) -> tuple[Move, ...]:
    """The ``ways`` of scalars out of the words of a tile, to so many ``ports``; in several pieces where words are
    narrower than scalars."""
    pieces, per_word = tile.dtype.bits // item_bits(tile), tile.word_bits // item_bits(tile)
    items = ((scalar * pieces + at, to * pieces + at) for scalar, to in ways for at in range(pieces))
    return moves_of(items, per_word, ports * pieces)
