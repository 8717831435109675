"""The matrix product of tiles with a dynamic number of rows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Module, Mux, Signal, Value

from hw.functions.corner_turn import CornerTurn
from hw.functions.matmul_datapath import MatmulDatapath
from hw.functions.matmul_moves import item_bits, result_moves
from hw.functions.matmul_order import Working
from hw.primitives.timing import counter, counts, delayed, window_place
from hw.verilog.modules import Shared
from step.lowering.plans.matmul_rows import RowsMatmulPlan
from step.lowering.plans.rows import parts


class RowsMatmulDatapath(MatmulDatapath):
    """A `MatmulDatapath` with as many rows as there are.

    Order, states and result have hardware of their own: groups of a known product are constants, while registers that
    hold them, as they do here, would be LUTs of every static product.
    """

    plan: RowsMatmulPlan
    leaves_early = True

    def order(self, m: Module, begins: Value, rows: Any) -> Working:
        return RowsOrder(m, self.plan, begins, parts(rows, 1, self.plan.arrangement.block_rows))

    def states(self, m: Module, begins: Value) -> RowsStates:
        return RowsStates(m, self.plan, self.start, self.first, begins)

    def kept(self, m: Module, sums: Value, complete: Value, order: Any, states: RowsStates | None) -> Value:
        plan = self.plan
        last = delayed(m, order.last, plan.depth, "last")
        block = Signal(range(max(2, plan.arrangement.blocks)), name="complete_block")
        counts(m, block, complete, last)
        word: Value = window_place(m, "result_word", self.leave, plan.result.words)
        results = Shared(CornerTurn(result_moves(plan), item_bits(plan.result), plan.results, deep=plan.deep_results))
        m.submodules.results = results
        m.d.comb += [results.write.eq(complete), results.write_step.eq(block), results.values.eq(sums)]
        early = int(not plan.deep_results)
        m.d.comb += results.read_step.eq(delayed(m, word, early, "read_word"))
        if plan.results > 1:
            if states is None:
                written, _ = counter(m, plan.results, "written", complete & last)
            else:
                written = delayed(m, states.place, plan.depth, "written")
            following, _ = counter(m, plan.results, "read", self.leave)
            part, before = Signal.like(following, name="leaves"), Signal.like(following, name="left")
            m.d.comb += part.eq(Mux(self.leave, following, before))
            m.d.sync += before.eq(part)
            m.d.comb += [results.write_part.eq(written), results.read_part.eq(delayed(m, part, early, "read_part"))]
        result: Value = results.result
        return result


class RowsStates:
    """Facts of the product that the lanes work on: whether it is the ``first`` of a reduction, and the state's
    ``place``."""

    def __init__(self, m: Module, plan: RowsMatmulPlan, start: Value, first: Value, begins: Value) -> None:
        given, coming, self.first = Signal(name="given"), Signal(name="coming"), Signal(name="first_of_state")
        m.d.comb += coming.eq(Mux(start, first, given))
        m.d.sync += given.eq(coming)
        with m.If(begins):
            m.d.sync += self.first.eq(coming)
        self.place: Value = C(0, 1)
        if plan.results > 1:
            last = plan.results - 1
            self.place = place = Signal(range(last + 1), init=last, name="part_of_state")
            counts(m, place, begins & coming, place == last)


class RowsOrder(Working):
    """An `Order` with so many ``blocks`` below each other as there are with ``begins``.

    A group has the fewest rows of blocks that it may have until there are less than two of it left. ``last``: the block
    is the last one of the product, for the last k.
    """

    def __init__(self, m: Module, plan: RowsMatmulPlan, begins: Value, blocks: Value) -> None:
        super().__init__(m, plan)
        shape = plan.arrangement
        most = shape.row_blocks
        busy, waits, self._turn_ends = Signal(name="busy"), Signal(name="waits"), Signal(name="turn_ends")
        left, height = Signal(range(most + 1), name="left"), Signal(range(most + 1), name="height")
        last_group, self.active = Signal(name="last_group"), Signal(name="active")
        m.d.comb += [last_group.eq(left < 2 * shape.group), height.eq(Mux(last_group, left, shape.group))]
        self.across, row_ends = counter(m, shape.col_blocks, "across", self.active)
        self.k, self.last_k = counter(m, shape.inner, "k", self._turn_ends)
        self.first_k = self.k == 0
        down, blocks_end = Signal(range(max(2, most)), name="down"), Signal(name="blocks_end")
        m.d.comb += [self.active.eq(busy & ~waits), blocks_end.eq(self.active & row_ends & (down == height - 1))]
        counts(m, down, self.active & row_ends, blocks_end)
        group_ends = self._turn_ends & self.last_k
        self.last = blocks_end & self.last_k & last_group
        self._ends = ends = group_ends & last_group
        m.d.comb += self._turn_ends.eq((blocks_end | waits) & self._enough(busy))
        m.d.sync += waits.eq((blocks_end | waits) & ~self._turn_ends)
        with m.If(begins):
            m.d.sync += [busy.eq(1), left.eq(blocks)]
        with m.Elif(ends):
            m.d.sync += busy.eq(0)
        with m.Elif(group_ends):
            m.d.sync += left.eq(left - shape.group)
        self._last_group = last_group
        self.row = self._going_back("row", most, self.active & row_ends)

    def _enough(self, busy: Value) -> Value:
        """Whether the turn may end: a sum of its first block is there again."""
        shape = self._plan.arrangement
        if shape.col_blocks >= shape.least:
            return C(1, 1)
        cycle, enough = Signal(range(shape.least), name="cycle"), Signal(name="enough")
        self._m.d.comb += enough.eq(cycle == shape.least - 1)
        with self._m.If(self._turn_ends):
            self._m.d.sync += cycle.eq(0)
        with self._m.Elif(busy & ~enough):
            self._m.d.sync += cycle.eq(cycle + 1)
        return enough
