"""Rows that follow each other bit by bit: joined in words, and read out of words."""

from __future__ import annotations

import math

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath
from hw.functions.store import Store
from step.lowering.plans import parts as kinds
from step.lowering.plans.retile import JoinPlan


class PackedRows(Datapath):
    """``result`` is all tiles of a reduction one after the other, wherever in a word they begin.

    What is no whole word yet waits in a register, and is the last word of the result. Sizes are counted in units that
    all of them are made of.
    """

    plan: JoinPlan

    def value(self, m: Module) -> Value:
        plan = self.plan
        bits = plan.store.read.bits  # of a word
        unit = math.gcd(plan.row or plan.width, bits)
        word, units = bits // unit, plan.width // unit  # of a word, of an element at most
        total = self.rows * (plan.row // unit) if plan.row else C(units)
        coming, left = Signal(range(units + 1), name="coming"), Signal(range(units + 1), name="left")
        fresh, size = Signal(init=1, name="fresh"), Signal(range(word + 1), name="size")
        m.d.comb += [coming.eq(Mux(self.start, total, left)), size.eq(Mux(coming > word, word, coming))]
        m.d.sync += [left.eq(coming - size), fresh.eq(self.emit | (fresh & ~self.start))]
        comes, first = coming != 0, self.start & fresh

        rest, offset = Signal(bits, name="rest"), Signal(range(word), name="offset")
        whole = Signal(range(plan.store.read.count + 1), name="whole")  # words in the store
        names = ("rest_before", "offset_before", "whole_before")
        before = [Signal.like(each, name=name) for each, name in zip((rest, offset, whole), names, strict=True)]
        m.d.comb += [now.eq(Mux(first, 0, each)) for now, each in zip(before, (rest, offset, whole), strict=True)]
        units_in = [self.operand0[at * unit : (at + 1) * unit] for at in range(len(self.operand0) // unit)]
        given = Cat(Mux(at < size, part, 0) for at, part in enumerate(units_in))
        shifted = Array(Cat(C(0, at * unit), given) for at in range(word))[before[1]]
        both = Signal(2 * bits, name="both")
        m.d.comb += both.eq(before[0] | shifted)
        end = Signal(range(2 * word + 1), name="end")
        m.d.comb += end.eq(before[1] + size)
        fills = comes & (end >= word)
        after = Mux(fills, both[bits:], both[:bits])
        with m.If(comes):
            m.d.sync += [rest.eq(after), offset.eq(Mux(fills, end - word, end)), whole.eq(before[2] + fills)]
        store = Store(m, "tiles", kinds.Store(plan.store.read, plan.store.read))
        store.write(fills, before[2], both[:bits])
        return self._leaving(m, store, comes, size != coming, (rest, after), (whole, before[2] + fills))

    def _leaving(
        self, m: Module, store: Store, comes: Value, more: Value, rest: tuple[Value, Value], whole: tuple[Value, Value]
    ) -> Value:
        """The words from the one behind ``emit`` on. The last one is kept, as the next reduction takes its register.

        ``more`` of the last element is to come; ``rest`` and ``whole`` are those of the cycle before and of the next.
        """
        follows, keeps = Signal(name="follows"), Signal(name="keeps")
        tail, last = Signal.like(rest[0], name="tail"), Signal.like(whole[0], name="last")
        m.d.comb += keeps.eq(self.emit | follows)
        m.d.sync += follows.eq(keeps & comes & more)
        with m.If(keeps):
            m.d.sync += [tail.eq(Mux(comes, rest[1], rest[0])), last.eq(Mux(comes, whole[1], whole[0]))]
        word = self.emitted(m, self.plan.store.read.count, dynamic=True)
        return Mux(word == last, tail, store.read(word))
