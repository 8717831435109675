"""Datapath of the matrix product."""

from __future__ import annotations

from amaranth.hdl import C, Module, Value

from hw.functions.datapath import Datapath
from hw.functions.matmul_operands import Operands
from hw.functions.matmul_order import Order
from hw.functions.matmul_result import States, leave
from hw.functions.matmul_slots import Slots
from hw.functions.matmul_sums import accumulate
from hw.primitives.timing import delayed
from hw.verilog.spelling import Spelling, tile_words
from step.lowering.plans.matmul_plan import MatmulPlan


class MatmulDatapath(Datapath):
    """``result`` = ``operand0`` x ``operand1``, plus the state in a reduction.

    The words of an operand go into a store, from which its scalars go to the lanes while others come. The sums go
    round through the lanes, and behind the last k into a store from which they leave in words.
    """

    plan: MatmulPlan
    leaves_early = True

    @property
    def spelling(self) -> Spelling:
        plan = self.plan
        turned, reduces = "transposed" if plan.transposed else "", "reduce" if plan.reduce else ""
        return Spelling.some(*tile_words(*plan.operands), turned, reduces, f"lanes{plan.lanes}")

    def value(self, m: Module) -> Value:
        plan = self.plan
        rows = self.rows_now(m) if plan.most_rows else plan.rows
        operands = Operands(m, plan, self.start, plan.begin_of(rows), plan.loads(rows))
        slots = plan.arrangement.products > 1
        order = Slots(m, plan, operands.begins) if slots else Order(m, plan, operands.begins, rows)
        scalars = operands.scalars([self.operand0, self.operand1], order)
        states = States(m, self, plan.results, operands.begins) if plan.reduce else None
        sums = accumulate(m, plan, scalars, order, order.first_k & (states.first if states else C(1, 1)))
        complete = delayed(m, order.active & order.last_k, plan.depth, "complete")
        return leave(m, self, plan, sums, complete, order, states)
