"""The order in which the lanes of a matrix product work where several products share a turn."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.functions.matmul_order import Working
from hw.primitives.timing import counter, counts
from step.lowering.plans.matmul_plan import MatmulPlan


class Slots(Working):
    """An order like `matmul_order.Order`; from the cycle behind ``begins`` on each product waits for its slot.

    ``last``: the block is the last one of the product, for the last k. What is known of the product in a slot goes
    round through registers, a place further with every slot.
    """

    def __init__(self, m: Module, plan: MatmulPlan, begins: Value) -> None:
        super().__init__(m, plan)
        shape = plan.arrangement
        self.across, row_ends = counter(m, shape.col_blocks, "across", C(1, 1))
        self.row, rows_end = counter(m, shape.row_blocks, "row", row_ends)
        ends = row_ends & rows_end
        self.active, self.k = Signal(name="active"), Signal(range(shape.inner), name="k")
        self.first_k, self.last_k = self.k == 0, self.k == shape.inner - 1
        self.last = self.active & self.last_k & ends
        enters = self._enters(begins, ends)
        entering = [counter(m, copies, f"entering_{port}", enters)[0] for port, copies in enumerate(plan.copies)]
        self._parts = [Signal.like(each, name=f"part_{port}") for port, each in enumerate(entering)]
        known = Cat(self.active, self.k, *self._parts)
        places = [Signal(len(known), name=f"waits_{at}") for at in range(shape.products - 1)]
        following = Cat(self.active & ~self.last_k, (self.k + 1)[: len(self.k)], *self._parts)
        with m.If(ends):
            m.d.sync += known.eq(Mux(enters, Cat(C(1, 1), C(0, len(self.k)), *entering), places[0]))
            m.d.sync += Cat(*places).eq(Cat(*places[1:], following))

    def _enters(self, begins: Value, ends: Value) -> Value:
        """Whether a product begins with the next cycle: its slot, which is that behind the last one's, does."""
        m, last = self._m, self._plan.arrangement.products - 1
        slot, _ = counter(m, last + 1, "slot", ends)
        before = Signal(range(last + 1), init=last)
        waits = Signal(name="waits")
        enters = Signal(name="enters")
        m.d.comb += enters.eq((begins | waits) & ends & (slot == before))
        m.d.sync += waits.eq((begins | waits) & ~enters)
        counts(m, before, enters, before == last)
        return enters

    def place(self, *, of_turn: bool) -> Value:
        assert of_turn, "a state is for one product after the other"
        shape = self._plan.arrangement
        place, _ = counter(self._m, shape.products * shape.blocks, "place", C(1, 1))
        return place

    def part(self, port: int) -> Value:
        return self._parts[port]
