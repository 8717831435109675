"""Plan of the matrix product."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from step.language.dtypes import BF16
from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import rounding
from step.lowering.plans.words import Words


def plan(function: Function, application: Application) -> MatmulPlan:
    """``[M,K] x [K,N]`` on at most `matmul_lanes` lanes, with additions in `stages` cycles; of INT8, in one."""
    fabric = application.fabric
    left, right = (Words.of(each, fabric.link_bytes) for each in application.inputs)
    result = Words.of(application.result, fabric.link_bytes)
    stages = fabric.stages if left.dtype is BF16 else 1
    arrangement = arrange(left.rows, left.cols, result.cols, fabric.matmul_lanes, stages)
    return MatmulPlan(arrangement, (left, right), result, min(stages, 2), rounding(application), application.reduce)


@dataclass(frozen=True)
class Arrangement:
    """How ``[rows, inner] x [inner, cols]`` is laid on lanes.

    A cycle works on a block of ``block_rows`` x ``block_cols`` scalars of the result, a lane for each. For every k the
    blocks take turns, row by row; a *turn* is as many cycles, and not less than ``stages``: so long it takes until
    a sum is there again.
    """

    rows: int
    inner: int
    cols: int
    block_rows: int
    block_cols: int
    stages: int

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
    def turn(self) -> int:
        return max(self.blocks, self.stages)


@cache  # programs have many products alike
def arrange(rows: int, inner: int, cols: int, lanes: int, stages: int) -> Arrangement:
    """The arrangement with the shortest turn on at most ``lanes`` lanes, and of those the one with the fewest lanes.

    Where there is a choice left, blocks are as wide as possible, so that results come in order.
    """
    heights, widths = ({-(-extent // parts) for parts in range(1, extent + 1)} for extent in (rows, cols))
    shapes = ((down, across) for down in heights for across in widths if down * across <= lanes)
    possible = (Arrangement(rows, inner, cols, *shape, stages) for shape in shapes)
    return min(possible, key=lambda each: (each.turn, each.lanes, each.blocks, each.block_rows))


@dataclass(frozen=True)
class MatmulPlan:
    """While a product is computed, the operands of the next one come in, and the last result leaves (that of a
    reduction only if it is due).

    The first block begins behind the last word. Behind the last block's turn come its ``product``, and its sum, which
    is rounded in ``rounds`` cycles.
    """

    arrangement: Arrangement
    operands: tuple[Words, Words]
    result: Words
    product: int
    rounds: int
    reduce: bool

    streams = True

    @property
    def loads(self) -> int:
        """Cycles in which the operands come."""
        return max(each.beats for each in self.operands)

    @property
    def computes(self) -> int:
        """Cycles of a product on the lanes."""
        return self.arrangement.inner * self.arrangement.turn

    @property
    def initiation_interval(self) -> int:
        return max(self.loads, self.computes, 1 if self.reduce else self.result.beats)

    @property
    def latency(self) -> int:
        idle = self.arrangement.turn - self.arrangement.blocks  # cycles of a turn behind its last block
        return self.loads + self.computes - idle + self.depth

    @property
    def depth(self) -> int:
        """Cycles from the addresses of a block's operands to its sums, in the format of the result."""
        return self.product + self.arrangement.stages + self.rounds
