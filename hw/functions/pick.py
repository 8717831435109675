"""Datapaths of functions that give scalars other columns."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath, no_datapath
from hw.primitives.delay import DelayLine
from hw.primitives.timing import delayed, window, window_from_start, window_place, word_window
from hw.verilog.modules import Shared
from step.functions.pick import Column, RotateHalf
from step.language.function import Function
from step.lowering.plans.pick import ColumnPlan, RotatePlan
from step.lowering.plans.plan import Application
from step.lowering.plans.rows import parts


def datapath(function: Function, application: Application, plan: Any) -> Datapath:
    """The datapath: registers for what is wanted of the words that come."""
    match function:
        case Column():
            return ColumnDatapath(plan, function.index)
        case RotateHalf():
            return RotateDatapath(plan)
    raise no_datapath(function)


class ColumnDatapath(Datapath):
    """``result`` = the scalars of ``operand0`` in column ``index``."""

    plan: ColumnPlan

    def __init__(self, plan: ColumnPlan, index: int) -> None:
        self.tile, self.shape, self.index = plan.tile, plan.result, index
        super().__init__(
            plan,
            [self.tile.word_bits],
            self.shape.word_bits,
            reduce=False,
            latency=1 + self.tile.beats - self.shape.beats,
            busy=self.tile.beats,
            most_rows=self.tile.rows if plan.dynamic else 0,
        )
        self.parameters = {"tile": self.tile, "result": self.shape, "index": self.index, "dynamic": self.plan.dynamic}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        number, (comes,) = word_window(m, self.start, [self.tile.beats])
        width = min(self.tile.dtype.bits, self.tile.link_bits)
        pieces, slots = self.tile.dtype.bits // width, self.tile.word_bits // width
        column: list[Value] = []
        for part in range(self.tile.rows * pieces):
            row, piece = divmod(part, pieces)
            word, slot = divmod((row * self.tile.cols + self.index) * pieces + piece, slots)
            kept = Signal(width, name=f"part_{part}", reset_less=True)
            with m.If(comes & (number == word)):
                m.d.sync += kept.eq(self.operand0.word_select(slot, width))
            column.append(kept)
        words = [Cat(column)[at * self.shape.link_bits :][: self.shape.word_bits] for at in range(self.shape.beats)]
        if self.plan.dynamic:
            leaves = window_place(m, "leaving", self.leave, self.shape.beats)
        else:
            begins: Value = self.start
            if self.latency > 1:
                m.submodules.begins = line = Shared(DelayLine(1, self.latency - 1))
                m.d.comb += line.i.eq(self.start)
                begins = line.o
            _, leaves, _ = window(m, "leaving", begins, self.shape.beats)
        m.d.comb += self.result.eq(words[0] if len(words) == 1 else Array(words)[leaves])
        return m


class RotateDatapath(Datapath):
    """``result`` = the halves of every row of ``operand0`` with changed places, what is now the first one negated."""

    plan: RotatePlan

    def __init__(self, plan: RotatePlan) -> None:
        self.tile = plan.tile
        super().__init__(
            plan,
            [self.tile.word_bits],
            self.tile.word_bits,
            reduce=False,
            latency=plan.latency,
            busy=self.tile.beats,
            most_rows=self.tile.rows if plan.dynamic else 0,
        )
        self.parameters = {"tile": self.tile, "dynamic": self.plan.dynamic}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        plan, tile = self.plan, self.tile
        words: Any = tile.beats
        if plan.dynamic:
            words = parts(self.rows, tile.cols * tile.dtype.bits, tile.link_bits)
        comes, last = window_from_start(m, self.start, words, tile.beats)
        copies = 1 if plan.window == 1 else 2
        number, copy = Signal(range(plan.window)), Signal(range(copies))
        ends = last | (number == plan.window - 1)
        with m.If(comes):
            m.d.sync += [number.eq(Mux(ends, 0, number + 1)), copy.eq(copy ^ ends)]
        slots = tile.word_bits // plan.width
        windows = [
            [
                self._word(m, f"word_{at}_{word}", word, comes & (copy == at), number, slots)
                for word in range(plan.window)
            ]
            for at in range(copies)
        ]
        read, of = delayed(m, number, self.latency, "read"), delayed(m, copy, self.latency, "of")
        chosen = [each[0] if plan.window == 1 else Array(each)[read] for each in windows]
        m.d.comb += self.result.eq(chosen[0] if copies == 1 else Array(chosen)[of])
        return m

    def _word(self, m: Module, name: str, word: int, comes: Value, number: Value, slots: int) -> Value:
        """``word`` of a window of the result, in registers that are written as their scalars come."""
        plan, tile = self.plan, self.tile
        pieces = tile.dtype.bits // plan.width
        found: list[Value] = []
        for slot in range(slots):
            source, at = divmod(plan.place(word * slots + slot), slots)
            kept = Signal(plan.width, name=f"{name}_{slot}", reset_less=True)
            with m.If(comes & (number == source)):
                m.d.sync += kept.eq(self.operand0.word_select(at, plan.width))
            scalar, piece = divmod(word * slots + slot, pieces)
            negated = piece == pieces - 1 and scalar % tile.cols < tile.cols // 2
            found.append(kept ^ C(negated << plan.width - 1, plan.width) if negated else kept)
        return Cat(found)
