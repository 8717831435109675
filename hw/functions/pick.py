"""Datapaths of functions that give scalars other columns."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath, made_by
from hw.primitives.timing import delayed, held, window_from_start, word_window
from step.functions.pick import Column, RotateHalf
from step.lowering.plans.pick import ColumnPlan, RotatePlan


class ColumnDatapath(Datapath):
    """``result`` = the scalars of ``operand0`` in a column."""

    plan: ColumnPlan

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        tile, shape = self.plan.tile, self.plan.result
        number, (comes,) = word_window(m, self.start, [tile.words])
        width = min(tile.dtype.bits, tile.link_bits)
        pieces, slots = tile.dtype.bits // width, tile.word_bits // width
        column: list[Value] = []
        for part in range(tile.rows * pieces):
            row, piece = divmod(part, pieces)
            word, slot = divmod((row * tile.cols + self.plan.index) * pieces + piece, slots)
            column.append(held(m, self.operand0.word_select(slot, width), comes & (number == word), f"part_{part}"))
        words = [Cat(column)[at * shape.link_bits :][: shape.word_bits] for at in range(shape.words)]
        leaves, _ = self.leaving(m, shape.words)
        m.d.comb += self.result.eq(words[0] if len(words) == 1 else Array(words)[leaves])
        return m


class RotateDatapath(Datapath):
    """``result`` = the halves of every row of ``operand0`` with changed places, what is now the first one negated."""

    plan: RotatePlan

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        plan = self.plan
        words = plan.tile.words_at(self.rows) if plan.most_rows else plan.tile.words
        comes, last = window_from_start(m, self.start, words, plan.tile.words)
        number, copy = Signal(range(plan.window)), Signal(range(plan.windows))
        ends = last | (number == plan.window - 1)
        with m.If(comes):
            m.d.sync += [number.eq(Mux(ends, 0, number + 1)), copy.eq(copy ^ ends)]
        windows = [
            [self._word(m, f"word_{at}_{word}", word, comes & (copy == at), number) for word in range(plan.window)]
            for at in range(plan.windows)
        ]
        read, of = delayed(m, number, self.latency, "read"), delayed(m, copy, self.latency, "of")
        chosen = [each[0] if plan.window == 1 else Array(each)[read] for each in windows]
        m.d.comb += self.result.eq(chosen[0] if plan.windows == 1 else Array(chosen)[of])
        return m

    def _word(self, m: Module, name: str, word: int, comes: Value, number: Value) -> Value:
        """``word`` of a window of the result, in registers that are written as their scalars come."""
        plan, tile = self.plan, self.plan.tile
        pieces = tile.dtype.bits // plan.width
        found: list[Value] = []
        for slot in range(plan.slots):
            source, at = divmod(plan.place(word * plan.slots + slot), plan.slots)
            part = self.operand0.word_select(at, plan.width)
            kept = held(m, part, comes & (number == source), f"{name}_{slot}")
            scalar, piece = divmod(word * plan.slots + slot, pieces)
            negated = piece == pieces - 1 and scalar % tile.cols < tile.cols // 2
            found.append(kept ^ C(negated << plan.width - 1, plan.width) if negated else kept)
        return Cat(found)


datapath = made_by({Column: ColumnDatapath, RotateHalf: RotateDatapath})
