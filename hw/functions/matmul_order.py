"""The order in which the lanes of a matrix product work."""

from __future__ import annotations

from amaranth.hdl import C, Module, Mux, Signal, Value

from hw.primitives.timing import counter, counts
from step.lowering.plans.matmul_plan import MatmulPlan


class Working:
    """The block that the lanes work on, and for which k, from the cycle behind ``begins`` on.

    ``active``: they do; ``row`` and ``across``: the block's row and column; ``k``, and whether it is the first and the
    last one. At ``turn_ends`` the block goes back to where its group began; the product ``ends`` with the last one.
    """

    active: Value
    row: Value
    across: Value
    k: Value
    first_k: Value
    last_k: Value
    _turn_ends: Value
    _last_group: Value
    _ends: Value

    def __init__(self, m: Module, plan: MatmulPlan) -> None:
        self._m, self._plan = m, plan

    def _going_back(self, name: str, extent: int, advance: Value) -> Value:
        """A number that goes back at the end of a turn to where its group began, and on behind the last one's."""
        if extent == 1:
            return C(0, 1)
        number, begin = Signal(range(extent), name=name), Signal(range(extent), name=f"{name}_of_group")
        onward = Signal(range(extent), name=f"next_{name}")
        self._m.d.comb += onward.eq(Mux(self._last_group, 0, number + 1))
        with self._m.If(self._turn_ends):
            with self._m.If(self.last_k):
                self._m.d.sync += [number.eq(onward), begin.eq(onward)]
            with self._m.Else():
                self._m.d.sync += number.eq(begin)
        with self._m.Elif(advance):
            self._m.d.sync += number.eq(number + 1)
        return number

    def place(self, *, of_turn: bool) -> Value:
        """The number of the block in the order of the result, or only of its turn; once."""
        if not of_turn:
            return self._going_back("place", self._plan.arrangement.blocks, self.active)
        return self._place_in_turn(max(2, self._plan.sums))

    def _place_in_turn(self, extent: int) -> Value:
        place = Signal(range(extent), name="place")
        with self._m.If(self._turn_ends):
            self._m.d.sync += place.eq(0)
        with self._m.Elif(self.active):
            self._m.d.sync += place.eq(place + 1)
        return place

    def part(self, port: int) -> Value:
        """The part of the store of an operand in which that of the product is; once."""
        part, _ = counter(self._m, self._plan.copies[port], f"read_{port}", self._ends)
        return part


class Order(Working):
    """The order of products with a number of rows that the plan knows."""

    def __init__(self, m: Module, plan: MatmulPlan, begins: Value) -> None:
        super().__init__(m, plan)
        shape = plan.arrangement
        heights = shape.heights(shape.rows)
        busy, turn_ends = Signal(name="busy"), Signal(name="turn_ends")
        self.active = Signal(name="active")
        self.across, row_ends = counter(m, shape.col_blocks, "across", self.active)
        self.k, self.last_k = counter(m, shape.inner, "k", turn_ends)
        self.first_k = self.k == 0
        _, last_group = counter(m, len(heights), "group", turn_ends & self.last_k)
        down, group_ends = self._down(heights, self.active & row_ends, last_group)
        if shape.blocks < shape.stages:
            slot, slots_end = counter(m, shape.stages, "slot", busy)
            m.d.comb += [self.active.eq(busy & (slot < shape.blocks)), turn_ends.eq(busy & slots_end)]
        else:
            m.d.comb += [self.active.eq(busy), turn_ends.eq(busy & row_ends & group_ends)]
        self._ends = turn_ends & self.last_k & last_group
        with m.If(begins):
            m.d.sync += busy.eq(1)
        with m.Elif(self._ends):
            m.d.sync += busy.eq(0)
        self._turn_ends, self._last_group = turn_ends, last_group
        self.row = down if len(heights) == 1 else self._going_back("row", shape.row_blocks, self.active & row_ends)

    def _down(self, heights: tuple[int, ...], advance: Value, last_group: Value) -> tuple[Value, Value]:
        """The row of the block in its group, and whether it is the last one."""
        *_, left = heights
        if left == heights[0]:
            return counter(self._m, left, "down", advance)
        count, last = Signal(range(left), name="down"), Signal(name="last_down")
        self._m.d.comb += last.eq(count == Mux(last_group, left - 1, heights[0] - 1))
        counts(self._m, count, advance, last)
        return count, last

    def place(self, *, of_turn: bool) -> Value:
        shape = self._plan.arrangement
        heights = shape.heights(shape.rows)
        if len(heights) > 1 and not of_turn:
            return super().place(of_turn=False)
        extent = max(heights) * shape.col_blocks
        return C(0, 1) if extent == 1 else self._place_in_turn(extent)
