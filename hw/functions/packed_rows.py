"""Rows that follow each other bit by bit: joined in words, and read out of words."""

from __future__ import annotations

import math
from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath
from hw.functions.store import Parts, Store
from hw.primitives.timing import delayed, window_place
from step.lowering.plans.retile import JoinPlan


class PackedRows(Datapath):
    """``result`` is all tiles of a reduction one after the other, wherever in a word they begin.

    What is no whole word yet waits in a register, and is the last word of the result. Sizes are counted in units that
    all of them are made of.
    """

    adds_rows = True
    """The state has the rows of all elements together."""

    def __init__(self, plan: JoinPlan) -> None:
        self.join = plan
        self.word = min(plan.link_bits, plan.bits)  # of a link that is wider than the largest result, as much as that
        self.left = Parts(-(-plan.bits // self.word), self.word)
        self.unit = math.gcd(plan.row or plan.width, self.word)
        super().__init__(
            plan,
            [min(self.word, plan.width)],
            self.left.bits,
            reduce=True,
            latency=1,
            busy=-(-plan.width // self.word),
            most_rows=plan.width // plan.row if plan.row else 0,
        )
        self.parameters = {
            "most_bits": self.join.bits,
            "width": self.join.width,
            "word_bits": self.word,
            "row_bits": self.join.row,
        }

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        word, units = self.word // self.unit, self.join.width // self.unit  # of a word, of an element at most
        total = self.rows * (self.join.row // self.unit) if self.join.row else C(units)
        coming, left = Signal(range(units + 1), name="coming"), Signal(range(units + 1), name="left")
        fresh, size = Signal(init=1, name="fresh"), Signal(range(word + 1), name="size")
        m.d.comb += [coming.eq(Mux(self.start, total, left)), size.eq(Mux(coming > word, word, coming))]
        m.d.sync += [left.eq(coming - size), fresh.eq(self.emit | (fresh & ~self.start))]
        comes, first = coming != 0, self.start & fresh

        rest, offset = Signal(self.word, name="rest"), Signal(range(word), name="offset")
        whole = Signal(range(self.left.count + 1), name="whole")  # words in the store
        names = ("rest_before", "offset_before", "whole_before")
        before = [Signal.like(each, name=name) for each, name in zip((rest, offset, whole), names, strict=True)]
        m.d.comb += [now.eq(Mux(first, 0, each)) for now, each in zip(before, (rest, offset, whole), strict=True)]
        parts = [self.operand0[at * self.unit : (at + 1) * self.unit] for at in range(len(self.operand0) // self.unit)]
        given = Cat(Mux(at < size, part, 0) for at, part in enumerate(parts))
        shifted = Array(Cat(C(0, at * self.unit), given) for at in range(word))[before[1]]
        both = Signal(2 * self.word, name="both")
        m.d.comb += both.eq(before[0] | shifted)
        end = Signal(range(2 * word + 1), name="end")
        m.d.comb += end.eq(before[1] + size)
        fills = comes & (end >= word)
        after = Mux(fills, both[self.word :], both[: self.word])
        with m.If(comes):
            m.d.sync += [rest.eq(after), offset.eq(Mux(fills, end - word, end)), whole.eq(before[2] + fills)]
        store = Store(m, "tiles", self.left, self.left, 1)
        store.write(fills, before[2], C(0, 1), both[: self.left.bits])
        m.d.comb += self.result.eq(
            self._leaving(m, store, comes, size != coming, (rest, after), (whole, before[2] + fills))
        )
        return m

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
        word = delayed(m, window_place(m, "word", self.emit, self.left.count - 1), 1, "word")
        return Mux(word == last, tail, store.read(word, C(0, 1)))
