"""How a matrix product is cut into blocks for its lanes, and when the lanes work on each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np


@dataclass(frozen=True)
class Arrangement:
    """How ``[rows, inner] x [inner, cols]`` is laid on lanes.

    A cycle works on a block of ``block_rows`` x ``block_cols`` scalars of the result, a lane for each. ``group`` rows
    of blocks are a group, and the last group has those that are left, too; groups follow each other. In a group the
    blocks take turns for every k, row by row; a *turn* is as many cycles, and not less than ``stages``: so long it
    takes until a sum is there again.

    Where so many rows can come, there may be fewer: methods take the ``rows`` that there are.
    """

    rows: int
    inner: int
    cols: int
    block_rows: int
    block_cols: int
    stages: int
    group: int

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

    def heights(self, rows: int) -> tuple[int, ...]:
        """The rows of blocks in each group."""
        row_blocks = -(-rows // self.block_rows)
        groups = max(1, row_blocks // self.group)
        return (self.group,) * (groups - 1) + (row_blocks - (groups - 1) * self.group,)

    def turns(self, rows: int) -> tuple[int, ...]:
        """The cycles of a turn in each group."""
        return tuple(max(height * self.col_blocks, self.stages) for height in self.heights(rows))

    def computes(self, rows: int) -> int:
        """Cycles of a product on the lanes."""
        return self.inner * sum(self.turns(rows))

    def schedule(self, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Of each row of blocks, the cycle of its first block and k = 0, and how many later that of the next k is."""
        heights, turns = self.heights(rows), self.turns(rows)
        begins = self.inner * np.cumsum([0, *turns[:-1]])
        places = np.concatenate([np.arange(height) for height in heights]) * self.col_blocks
        return np.repeat(begins, heights) + places, np.repeat(turns, heights)


@cache  # programs have many products alike
def arrange(rows: int, inner: int, cols: int, lanes: int, stages: int) -> Arrangement:
    """The arrangement in one group with the shortest turn on at most ``lanes`` lanes, and of those the fewest lanes.

    Where there is a choice left, blocks are as wide as possible, so that results come in order.
    """
    heights, widths = ({-(-extent // parts) for parts in range(1, extent + 1)} for extent in (rows, cols))
    shapes = ((down, across) for down in heights for across in widths if down * across <= lanes)
    possible = (Arrangement(rows, inner, cols, *shape, stages, -(-rows // shape[0])) for shape in shapes)
    return min(possible, key=lambda each: (max(each.blocks, stages), each.lanes, each.blocks, each.block_rows))
