"""Blocks of a matrix product for its lanes, and when the lanes work on each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from step.language.dtypes import FP32, DType
from step.lowering.plans.parts import Circuit, Memory, computation
from step.lowering.plans.words import Words


@dataclass(frozen=True)
class Arrangement:
    """The layout of ``[rows, inner] x [inner, cols]`` on lanes.

    A cycle works on a block of ``block_rows`` x ``block_cols`` scalars of the result, a lane for each. ``group`` rows
    of blocks are a group, and the last group has those that are left, too; groups follow each other. In a group the
    blocks take turns for every k, row by row; a *turn* is as many cycles, and not less than ``stages``: so long it
    takes until a sum is there again, and ``spare`` cycles longer if it comes out of block RAM. Where a product has
    fewer blocks than that, several ``products`` share a turn, each with a slot of its own, for which it waits.

    Where so many rows can come, there may be fewer: methods take the ``rows`` that there are.
    """

    rows: int
    inner: int
    cols: int
    block_rows: int
    block_cols: int
    stages: int
    group: int
    products: int = 1
    spare: int = 0

    @property
    def row_blocks(self) -> int:
        return -(-self.rows // self.block_rows)

    @property
    def col_blocks(self) -> int:
        return -(-self.cols // self.block_cols)

    @property
    def blocks(self) -> int:
        return self.row_blocks * self.col_blocks

    @property
    def lanes(self) -> int:
        return self.block_rows * self.block_cols

    @property
    def least(self) -> int:
        """Cycles of the shortest turn that there may be."""
        return self.stages + self.spare

    def heights(self, rows: int) -> tuple[int, ...]:
        """The rows of blocks in each group."""
        row_blocks = -(-rows // self.block_rows)
        groups = max(1, row_blocks // self.group)
        return (self.group,) * (groups - 1) + (row_blocks - (groups - 1) * self.group,)

    def turns(self, rows: int) -> tuple[int, ...]:
        """The cycles of a turn in each group."""
        if self.products > 1:
            return (self.products * self.blocks,)
        return tuple(max(height * self.col_blocks, self.least) for height in self.heights(rows))

    def computes(self, rows: int) -> int:
        """Cycles of a product on the lanes, from its first block to its last turn's end."""
        return self.inner * sum(self.turns(rows))

    def interval(self, rows: int) -> int:
        """Cycles from one product to the next one, as far as the lanes are concerned."""
        if self.products > 1:
            return max(self.inner * self.blocks, *self.turns(rows))
        return self.computes(rows)

    @property
    def waits(self) -> int:
        """Cycles that a product may wait for its slot."""
        return self.products * self.blocks - 1 if self.products > 1 else 0

    def schedule(self, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """For each row of blocks the cycle of its first block and k = 0, and how many later that of the next k is."""
        heights, turns = self.heights(rows), self.turns(rows)
        begins = self.inner * np.cumsum([0, *turns[:-1]])
        places = np.concatenate([np.arange(height) for height in heights]) * self.col_blocks
        return np.repeat(begins, heights) + places, np.repeat(turns, heights)


SIZES = 16
"""How many numbers of rows are looked at, where there may be fewer."""


@cache  # programs have many products alike
def arrange(
    rows: int, inner: int, cols: int, lanes: int, stages: int, words: int, shares: bool, fewer: bool
) -> Arrangement:
    """The arrangement in one group with the shortest interval on at most ``lanes`` lanes.

    Of those that are as good, links being busy for so many ``words``, the one in which a product takes the fewest
    cycles, and then the one with the fewest lanes. Where there is a choice left, blocks are as wide as possible, so
    that results come in order. ``shares``: products may share a turn. ``fewer``: there may be fewer rows, of which some
    numbers are looked at; blocks have a power of two of them then.
    """
    sizes = range(rows, 0, -max(1, rows // SIZES)) if fewer else (rows,)

    def shaped(down: int, across: int) -> Arrangement:
        found = Arrangement(rows, inner, cols, down, across, stages, -(-rows // down))
        return replace(found, products=-(-stages // found.blocks)) if shares and inner > 1 else found

    heights, widths = ({-(-extent // parts) for parts in range(1, extent + 1)} for extent in (rows, cols))
    heights = {each for each in heights if not fewer or each & (each - 1) == 0}
    possible = (shaped(down, across) for down in heights for across in widths if down * across <= lanes)

    def cost(each: Arrangement) -> tuple[int, ...]:
        takes = sum(max(each.interval(size), words) for size in sizes)
        return takes, each.computes(rows), each.lanes, each.blocks, each.block_rows

    return min(possible, key=cost)


def bits_of_sums(left: Words, right: Words, *, reduce: bool) -> int:
    """Bits of a sum: of integers those that the products of one element need, which leave as `INT32`."""
    needed = left.dtype.bits + right.dtype.bits + (left.cols - 1).bit_length()
    return 32 if right.dtype.is_float or reduce else min(32, needed)


def adders(dtype: DType, lanes: int, bits: int) -> Circuit:
    """Additions of so many ``lanes``, of products of ``dtype``: in FP32, or of integers of so many ``bits``."""
    return Circuit(computation("add", FP32), lanes) if dtype.is_float else Circuit("matmul.sum_bits", lanes * bits)


def memory_of(tile: Words, banks: tuple[int, int], copies: int, ports: int, *, deep: bool) -> Memory:
    """The memory of ``copies`` tiles in so many ``banks``, with so many scalars in each; one leaves by each port."""
    count, items = banks
    width = min(tile.dtype.bits, tile.word_bits)
    return Memory(width, copies << (items - 1).bit_length(), count, ports, deep)


@lru_cache(maxsize=4096)  # it is the same for all groups of rows
def banks_of(tile: Words, down: int, across: int) -> tuple[int, int]:
    """The number of pairs of a place in a word and a port, for scalars that are cut into blocks of ``down`` rows
    and ``across`` columns with a port for each place; the most in one."""
    bit = np.arange(tile.scalars) * tile.dtype.bits % tile.link_bits
    ports = (np.arange(tile.rows) % down)[:, None] * across + np.arange(tile.cols) % across
    _, counts = np.unique(bit * down * across + ports.reshape(-1), return_counts=True)
    return len(counts), int(counts.max())
