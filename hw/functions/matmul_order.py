"""The order in which the lanes of a matrix product work."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Const, Module, Mux, Signal, Value

from hw.primitives.timing import becomes, counter, named
from step.lowering.plans.matmul_plan import MatmulPlan
from step.lowering.plans.rows import parts


class Working:
    """The block that the lanes work on, and for which k, from the cycle behind ``begins`` on.

    ``active``: they do; ``row`` and ``across``: the block's row and column; ``k``, and whether it is the first and the
    last one; ``last``: the block is the last one of the product, for the last k. At ``turn_ends`` the block goes back
    to where its group began; the product ``ends`` with the last one.
    """

    active: Value
    row: Value
    across: Value
    k: Value
    first_k: Value
    last_k: Value
    last: Value
    _turn_ends: Value
    _last_group: Value
    _ends: Value

    def __init__(self, m: Module, plan: MatmulPlan) -> None:
        self._m, self._plan = m, plan

    def _going_back(self, name: str, extent: int, advance: Value, *, on: bool = True) -> Value:
        """A number that goes back at the end of a turn to where its group began, and ``on`` behind the last one's."""
        if extent == 1:
            return C(0, 1)
        number, back = Signal(range(extent), name=name), Signal(range(extent), name=f"{name}_at_end")
        if on and not isinstance(self._last_group, Const):
            begin = Signal(range(extent), name=f"{name}_of_group")
            self._m.d.comb += back.eq(Mux(self.last_k, Mux(self._last_group, 0, number + 1), begin))
            with self._m.If(self._turn_ends):
                self._m.d.sync += begin.eq(back)
        becomes(self._m, number, (self._turn_ends, back), (advance, number + 1))
        return number

    def place(self, *, of_turn: bool) -> Value:
        """The number of the block in the order of the result, or only of its turn; once."""
        extent = self._plan.sums if of_turn else self._plan.arrangement.blocks
        return self._going_back("place", extent, self.active, on=not of_turn)

    def part(self, port: int) -> Value:
        """The part of the store of an operand in which that of the product is; once."""
        part, _ = counter(self._m, self._plan.copies[port], f"read_{port}", self._ends)
        return part


class Order(Working):
    """The order of products with so many ``rows``, a number, or as many as there are with ``begins``.

    A group has the fewest rows of blocks that it may have until there are less than two of it left.
    """

    def __init__(self, m: Module, plan: MatmulPlan, begins: Value, rows: Any) -> None:
        super().__init__(m, plan)
        shape = plan.arrangement
        busy, waits = Signal(name="busy"), Signal(name="waits")
        self.active, self._turn_ends = Signal(name="active"), Signal(name="turn_ends")
        self.across, row_ends = counter(m, shape.col_blocks, "across", self.active)
        self.k, self.last_k = counter(m, shape.inner, "k", self._turn_ends)
        self.first_k = self.k == 0
        advance, blocks = self.active & row_ends, parts(rows, 1, shape.block_rows)
        down, down_ends = self._down(advance, begins, blocks)
        one_group = isinstance(self._last_group, Const)
        self.row = down if one_group else self._going_back("row", shape.row_blocks, advance)
        blocks_end = named(m, advance & down_ends, "blocks_end")
        m.d.comb += [self.active.eq(busy & ~waits), self._turn_ends.eq((blocks_end | waits) & self._enough(busy))]
        m.d.sync += waits.eq((blocks_end | waits) & ~self._turn_ends)
        self.last, self._ends = (each & self.last_k & self._last_group for each in (blocks_end, self._turn_ends))
        becomes(m, busy, (begins, 1), (self._ends, 0))

    def _down(self, advance: Value, begins: Value, blocks: Any) -> tuple[Value, Value]:
        """The row of the block in its group, and whether it is the last one, of so many ``blocks`` below each other."""
        m, shape, group_ends = self._m, self._plan.arrangement, self._turn_ends & self.last_k
        left: Any
        if isinstance(blocks, int):  # registers that hold what is known would be LUTs
            heights = shape.heights(shape.rows)
            most = left = heights[-1]
            _, self._last_group = counter(m, len(heights), "group", group_ends)
            if most == heights[0]:
                return counter(m, most, "down", advance)
        else:
            most = shape.row_blocks
            left, self._last_group = Signal(range(most + 1), name="left"), Signal(name="last_group")
            m.d.comb += self._last_group.eq(left < 2 * shape.group)
            becomes(m, left, (begins, blocks), (group_ends, left - shape.group))
        return counter(m, most, "down", advance, Mux(self._last_group, left, shape.group))

    def _enough(self, busy: Value) -> Value:
        """Whether the turn may end: a sum of its first block is there again."""
        shape = self._plan.arrangement
        fewest = min(height for rows in self._plan.sizes for height in shape.heights(rows))
        if fewest * shape.col_blocks >= shape.least:
            return C(1, 1)
        cycle, enough = Signal(range(shape.least), name="cycle"), Signal(name="enough")
        self._m.d.comb += enough.eq(cycle == shape.least - 1)
        becomes(self._m, cycle, (self._turn_ends, 0), (busy & ~enough, cycle + 1))
        return enough
