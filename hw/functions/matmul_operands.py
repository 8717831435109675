"""Operands of a matrix product: from words to the scalars of a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value

from hw.functions.assembly import Assembly
from hw.functions.corner_turn import CornerTurn, Move
from hw.functions.matmul_moves import item_bits, operand_moves
from hw.functions.matmul_order import Working
from hw.functions.rotated_turn import RotatedTurn
from hw.primitives.timing import counter, registered
from hw.verilog.modules import Shared
from step.lowering.plans.matmul_plan import MatmulPlan


class Operands:
    """The words of two operands, which come behind a ``start``, in stores.

    They are so many ``words`` at most, and where this depends on the rows at most as many as the plan has. ``begins``:
    the lanes may work from the next cycle on, behind word ``begin`` - 1.
    """

    def __init__(self, m: Module, plan: MatmulPlan, start: Value, begin: Any, words: Any) -> None:
        self._m, self._plan = m, plan
        loading = Signal()
        self._comes = Signal(name="comes")
        known = None if isinstance(words, int) else words
        self._word, self._last = counter(m, plan.loads(plan.rows), "word", self._comes, known)
        m.d.comb += self._comes.eq(start | loading)
        with m.If(self._comes):
            m.d.sync += loading.eq(~self._last)
        self.begins = self._comes & (self._word == begin - 1)

    def scalars(self, words: Sequence[Value], order: Working) -> list[Value]:
        """Scalars of each operand that the lanes work on, a cycle behind ``order``."""
        steps = Cat(order.row, order.k), Cat(order.across, order.k)
        found = []
        for port, word in enumerate(words):
            assembled = self._plan.assembled[port]
            moves = operand_moves(self._plan, port)
            store = self._assembly(port, moves) if assembled else self._turn(port, moves, order)
            self._m.submodules[f"store_{port}"] = store
            write = self._comes & (self._word < self._plan.operands[port].words)
            self._m.d.comb += [store.write.eq(write), store.write_step.eq(self._word), store.values.eq(word)]
            self._m.d.comb += store.read_step.eq(steps[port])
            result = self._padded(store.result, order.last_k, port)
            if any(self._plan.deep_operands) and not self._plan.deep_operands[port]:
                result = registered(self._m, result, f"early_{port}")
            found.append(registered(self._m, result, f"scalars_{port}"))
        return found

    def _padded(self, scalars: Value, last_k: Value, port: int) -> Value:
        """``scalars`` with zeros behind the last k, if they are those of the ``last_k``."""
        plan = self._plan
        left = plan.operands[0].cols % plan.terms
        if left == 0:
            return scalars
        bits = plan.operands[0].dtype.bits * plan.terms
        for _ in range(plan.deep_operands[port]):
            last_k = registered(self._m, last_k, f"padding_{port}")
        beyond = last_k.replicate(bits - bits // plan.terms * left)
        lanes = (scalars[at : at + bits] for at in range(0, len(scalars), bits))
        return Cat(Cat(each[: bits - len(beyond)], each[bits - len(beyond) :] & ~beyond) for each in lanes)

    def _assembly(self, port: int, moves: tuple[Move, ...]) -> Shared:
        operand = self._plan.operands[port]
        store = Shared(Assembly(moves, item_bits(operand), last=operand.words == self._plan.begin))
        self._m.d.comb += store.swap.eq(self.begins)
        return store

    def _turn(self, port: int, moves: tuple[Move, ...], order: Working) -> Shared:
        copies = self._plan.copies[port]
        width, deep = item_bits(self._plan.operands[port]), self._plan.deep_operands[port]
        rotates = port == 1 and RotatedTurn.fits(self._plan)
        store = Shared(RotatedTurn.of(self._plan) if rotates else CornerTurn(moves, width, copies, deep=deep))
        if copies > 1:
            written, _ = counter(self._m, copies, f"written_{port}", self._comes & self._last)
            self._m.d.comb += [store.write_part.eq(written), store.read_part.eq(order.part(port))]
        return store
