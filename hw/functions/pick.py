"""Datapaths of functions that give scalars other columns."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath
from hw.functions.store import Picked
from hw.primitives.timing import delayed, held, window_from_start, word_window
from step.functions.pick import Column, RotateHalf
from step.lowering.plans.pick import ColumnPlan, RotatePlan


class ColumnDatapath(Datapath, of=Column):
    """``result`` = the scalars of ``operand0`` in a column."""

    plan: ColumnPlan

    def value(self, m: Module) -> Value:
        tile, shape, function = self.plan.tile, self.plan.result, self.plan.function
        assert isinstance(function, Column)
        number, (comes,) = word_window(m, self.start, [tile.words])
        width = min(tile.dtype.bits, tile.link_bits)
        pieces, slots = tile.dtype.bits // width, tile.word_bits // width
        column: list[Value] = []
        for part in range(tile.rows * pieces):
            row, piece = divmod(part, pieces)
            word, slot = divmod((row * tile.cols + function.index) * pieces + piece, slots)
            column.append(held(m, self.operand0.word_select(slot, width), comes & (number == word), f"part_{part}"))
        words = [Cat(column)[at * shape.link_bits :][: shape.word_bits] for at in range(shape.words)]
        leaves, _ = self.leaving(m, shape.words)
        return words[0] if len(words) == 1 else Array(words)[leaves]


class RotateDatapath(Datapath, of=RotateHalf):
    """``result`` = the halves of every row of ``operand0`` with changed places, what is now the first one negated."""

    plan: RotatePlan

    def value(self, m: Module) -> Value:
        plan = self.plan
        words = plan.tile.words_at(self.rows) if plan.most_rows else plan.tile.words
        comes, last = window_from_start(m, self.start, words, plan.tile.words)
        number = Signal(range(plan.window))
        copy = Signal(range(plan.store.copies))
        ends = last | (number == plan.window - 1)
        with m.If(comes):
            m.d.sync += [number.eq(Mux(ends, 0, number + 1)), copy.eq(copy ^ ends)]
        store = Picked(m, "window", plan.store, self._turned)
        store.write(comes, number, self.operand0, copy)
        read, of = delayed(m, number, self.latency, "read"), delayed(m, copy, self.latency, "of")
        return store.read(read, of)

    def _turned(self, window: Value) -> list[Value]:
        """The words of the result of a whole ``window``."""
        plan, cols = self.plan, self.plan.tile.cols
        pieces, found = self.plan.tile.dtype.bits // plan.width, list[Value]()
        for part in range(plan.window * plan.slots):
            scalar, piece = divmod(part, pieces)
            value, negated = window.word_select(plan.place(part), plan.width), scalar % cols < cols // 2
            found.append(value ^ (1 << plan.width - 1) if negated and piece == pieces - 1 else value)
        return [Cat(found[at : at + plan.slots]) for at in range(0, len(found), plan.slots)]
