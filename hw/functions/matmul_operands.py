"""Operands of a matrix product: from words to the scalars of a cycle."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal, Value

from hw.functions.assembly import Assembly
from hw.functions.corner_turn import CornerTurn, Move
from hw.functions.matmul_moves import item_bits, left_moves, right_moves
from hw.functions.matmul_order import Order
from hw.functions.matmul_slots import Slots
from hw.functions.sequence import counter, data_later
from hw.verilog.modules import Shared
from step.lowering.plans.matmul import MatmulPlan


class Operands:
    """The words of two operands, which come behind a ``start``, in stores.

    ``begins``: the lanes may work from the next cycle on.
    """

    def __init__(self, m: Module, plan: MatmulPlan, start: Value) -> None:
        self._m, self._plan = m, plan
        loading = Signal()
        self._comes = Signal(name="comes")
        self._word, self._last = counter(m, plan.loads(plan.arrangement.rows), "word", self._comes)
        m.d.comb += self._comes.eq(start | loading)
        with m.If(self._comes):
            m.d.sync += loading.eq(~self._last)
        self.begins = self._comes & (self._word == plan.begin - 1)

    def scalars(self, words: Sequence[Value], order: Order | Slots) -> list[Value]:
        """Of each operand those that the lanes work on, a cycle behind ``order``."""
        moves = left_moves(self._plan), right_moves(self._plan)
        steps = Cat(order.row, order.k), Cat(order.across, order.k)
        found = []
        for port, word in enumerate(words):
            assembled = self._plan.assembled[port]
            store = self._assembly(port, moves[port]) if assembled else self._turn(port, moves[port], order)
            self._m.submodules[f"store_{port}"] = store
            write = self._comes & (self._word < self._plan.operands[port].beats)
            self._m.d.comb += [store.write.eq(write), store.write_step.eq(self._word), store.values.eq(word)]
            self._m.d.comb += store.read_step.eq(steps[port])
            result = store.result
            if any(self._plan.deep_operands) and not self._plan.deep_operands[port]:
                result = data_later(self._m, result, f"early_{port}")
            found.append(data_later(self._m, result, f"scalars_{port}"))
        return found

    def _assembly(self, port: int, moves: tuple[Move, ...]) -> Shared:
        operand = self._plan.operands[port]
        store = Shared(Assembly(moves, item_bits(operand), last=operand.beats == self._plan.begin))
        self._m.d.comb += store.swap.eq(self.begins)
        return store

    def _turn(self, port: int, moves: tuple[Move, ...], order: Order | Slots) -> Shared:
        copies = self._plan.copies[port]
        width, deep = item_bits(self._plan.operands[port]), self._plan.deep_operands[port]
        store = Shared(CornerTurn(moves, width, copies, deep=deep))
        if copies > 1:
            written, _ = counter(self._m, copies, f"written_{port}", self._comes & self._last)
            self._m.d.comb += [store.write_part.eq(written), store.read_part.eq(order.part(port))]
        return store
