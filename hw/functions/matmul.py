"""Datapath of the matrix product."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.arithmetic.convert import Convert
from hw.arithmetic.model import DatapathModel
from hw.arithmetic.multiply_accumulate import IntegerMultiplyAccumulate, MultiplyAccumulate
from hw.firing.delay import DelayLine
from hw.functions.corner_turn import CornerTurn, Move
from hw.functions.datapath import Datapath, no_datapath
from hw.functions.double_buffer import DoubleBuffer
from hw.functions.sequence import counter, data_later, later, loop_store
from hw.functions.shift_out import ShiftOut, leaves_in_order
from hw.verilog.modules import Shared
from step.functions.matmul import Matmul
from step.language.dtypes import BF16, FP32, DType
from step.language.function import Function
from step.lowering.plans.matmul import MatmulPlan
from step.lowering.plans.plan import Application
from step.lowering.plans.words import Words

SHIFTED = 4
"""Words of a result up to which it waits in shift registers: LUT RAM has 16 places, and takes more LUTs than these."""


def datapath(function: Function, application: Application, plan: MatmulPlan) -> Datapath:
    """The datapath for two tiles, on `matmul_lanes` lanes."""
    if not isinstance(function, Matmul):
        raise no_datapath(function)
    rtl = MatmulDatapath(plan, function.transposed)
    return MatmulModel(rtl) if application.fabric.arithmetic == "model" and rtl.dtype is BF16 else rtl


class MatmulDatapath(Datapath):
    """``result`` = ``operand0`` x ``operand1``, plus the state in a reduction.

    The words of an operand go into one half of a buffer, while the last product is computed from the other half. The
    sums go round through the lanes, and behind the last k into a store from which they leave in words.
    """

    plan: MatmulPlan

    def __init__(self, plan: MatmulPlan, transposed: bool) -> None:
        self.arrangement, self.operands, self.words = plan.arrangement, plan.operands, plan.result
        self.transposed, self.reduce = transposed, plan.reduce
        self.dtype, self.out = self.operands[0].dtype, self.words.dtype
        self.lane = self._lane()
        depth = 1 + self.lane.depth + (self.out is BF16)
        super().__init__(
            plan,
            [each.word_bits for each in self.operands],
            self.words.word_bits,
            reduce=plan.reduce,
            latency=plan.latency - plan.depth + depth,
            busy=max(plan.loads, plan.computes),
        )

    def _lane(self) -> MultiplyAccumulate | IntegerMultiplyAccumulate:
        return MultiplyAccumulate(self.arrangement.stages) if self.dtype is BF16 else IntegerMultiplyAccumulate()

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.arrangement, self.transposed, self.out, self.reduce, self.words.link_bits // 8

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        shape = self.arrangement
        word, loads, loaded = self._load(m)
        busy = Signal()
        active = Signal()
        slot, turn_ends = counter(m, shape.turn, "slot", busy)
        k, last_k = counter(m, shape.inner, "k", busy & turn_ends)
        across, row_ends = counter(m, shape.col_blocks, "across", active)
        down, _ = counter(m, shape.row_blocks, "down", active & row_ends)
        m.d.comb += active.eq(busy & (slot < shape.blocks))
        with m.If(loaded):
            m.d.sync += busy.eq(1)
        with m.Elif(turn_ends & last_k):
            m.d.sync += busy.eq(0)
        first: Value = C(1, 1)
        apart: Value = C(1, 1)
        if self.reduce:
            emitted = Signal(reset_less=True)  # the state has left, or leaves, behind the last element
            given, beginning = Signal(2, reset_less=True), Signal(2, reset_less=True)
            with m.If(self.start):
                m.d.sync += [emitted.eq(self.emit), given.eq(Cat(self.first, emitted))]
            with m.Elif(self.emit):
                m.d.sync += emitted.eq(1)
            with m.If(loaded):
                m.d.sync += beginning.eq(Mux(self.start, Cat(self.first, emitted), given))
            first, apart = beginning

        scalars: list[Value] = []
        for port, (outer, moves) in enumerate(((down, self._left_moves()), (across, self._right_moves()))):
            format = self.operands[port]
            last = format.beats == max(each.beats for each in self.operands)
            buffer = DoubleBuffer(moves, min(self.dtype.bits, format.word_bits), last=last)
            m.submodules[f"store_{port}"] = store = Shared(buffer)
            m.d.comb += [
                *(store.write.eq(loads & (word < format.beats)), store.write_step.eq(word), store.swap.eq(loaded)),
                *(store.values.eq(getattr(self, f"operand{port}")), store.read_step.eq(Cat(outer, k))),
            ]
            scalars.append(data_later(m, store.result, f"scalars_{port}"))
        sums = self._accumulate(m, scalars, (k == 0) & first, active)
        self._leave(m, sums, later(m, active & last_k, self.plan.depth, "complete"), apart)
        return m

    def _load(self, m: Module) -> tuple[Value, Value, Value]:
        """Which word of the operands is there, if any is, and whether it is the last one."""
        loading = Signal()
        loads = Signal()
        word, last = counter(m, max(each.beats for each in self.operands), "word", loads)
        m.d.comb += loads.eq(self.start | loading)
        with m.If(loads):
            m.d.sync += loading.eq(~last)
        return word, loads, loads & last

    def _left_moves(self) -> tuple[Move, ...]:
        """From the words of the left operand to its ``block_rows`` scalars of a cycle; a step is (row block, k)."""
        shape = self.arrangement
        moves: list[Move] = []
        for i in range(shape.rows):
            block, row = divmod(i, shape.block_rows)
            for k in range(shape.inner):
                step = block + (k << _width(shape.row_blocks))
                moves += _out_of_words(i * shape.inner + k, self.dtype, self.operands[0], step, row)
        return tuple(moves)

    def _right_moves(self) -> tuple[Move, ...]:
        """From the words of the right operand to its ``block_cols`` scalars of a cycle; a step is (column block, k)."""
        shape = self.arrangement
        moves: list[Move] = []
        for j in range(shape.cols):
            block, col = divmod(j, shape.block_cols)
            for k in range(shape.inner):
                step = block + (k << _width(shape.col_blocks))
                scalar = j * shape.inner + k if self.transposed else k * shape.cols + j
                moves += _out_of_words(scalar, self.dtype, self.operands[1], step, col)
        return tuple(moves)

    def _result_moves(self) -> tuple[Move, ...]:
        """From the sums of a block to the words of the result."""
        shape = self.arrangement
        moves: list[Move] = []
        for i in range(shape.rows):
            for j in range(shape.cols):
                block = i // shape.block_rows * shape.col_blocks + j // shape.block_cols
                lane = i % shape.block_rows * shape.block_cols + j % shape.block_cols
                moves += [each.back() for each in _out_of_words(i * shape.cols + j, self.out, self.words, block, lane)]
        return tuple(moves)

    def _accumulate(self, m: Module, scalars: list[Value], fresh: Value, active: Value) -> Value:
        """The sums that leave the lanes, of ``scalars`` a cycle behind ``active``; where ``fresh``, from zero on."""
        shape = self.arrangement
        sums = Signal(shape.lanes * 32)
        before = later(m, active, self.lane.product_cycles, "before")  # a cycle before the state is wanted
        enters = later(m, before, 1, "enters")
        leaves = later(m, enters, self.lane.sum_cycles, "leaves")
        fresh = later(m, fresh, self.lane.product_cycles, "fresh")
        state: Value = C(0, len(sums))
        if shape.turn == shape.blocks > shape.stages:
            block, _ = counter(m, shape.blocks, "block", before)
            state = data_later(m, Mux(fresh, 0, loop_store(m, shape.blocks, block, leaves, sums)), "state")
        elif self.reduce:
            block, _ = counter(m, shape.blocks, "block", enters)
            state = Mux(later(m, fresh, 1, "fresh_now"), 0, loop_store(m, shape.blocks, block, leaves, sums))
        elif shape.inner > 1:  # a turn takes as long as a sum
            state = data_later(m, Mux(fresh, 0, sums), "state")
        for lane in range(shape.lanes):
            i, j = divmod(lane, shape.block_cols)
            m.submodules[f"lane_{lane}"] = unit = Shared(self._lane())
            m.d.comb += [
                unit.first.eq(scalars[0].word_select(i, self.dtype.bits)),
                unit.second.eq(scalars[1].word_select(j, self.dtype.bits)),
                unit.sum.eq(state.word_select(lane, 32)),
                sums.word_select(lane, 32).eq(unit.result),
            ]
        return self._rounded(m, sums) if self.out is BF16 else sums

    def _rounded(self, m: Module, sums: Value) -> Value:
        """The sums of the cycle before in the format of the result."""
        before = data_later(m, sums, "unrounded")
        rounded = []
        for lane in range(self.arrangement.lanes):
            m.submodules[f"round_{lane}"] = unit = Shared(Convert(FP32, self.out))
            m.d.comb += unit.value.eq(before.word_select(lane, 32))
            rounded.append(unit.result)
        return Cat(rounded)

    def _leave(self, m: Module, sums: Value, complete: Value, apart: Value) -> None:
        """Keep the ``complete`` sums, and send them word by word: of a reduction only where it is to ``emit``.

        An element ``apart`` from a state that leaves begins another part of the store. Two are enough, as a part has
        left before the second product behind it ends, and one where it has left before any sum of the first one is
        complete. A state may leave later than its last element came; for that there is a third one.
        """
        shape = self.arrangement
        parts = 3 if self.reduce else 1 + (self.words.beats > self.initiation_interval - shape.blocks + 1)
        block, last = counter(m, shape.blocks, "complete_block", complete)
        whole, begins = complete & last, Signal()
        if self.reduce:
            m.submodules.emissions = emissions = Shared(DelayLine(2, self.latency - 1))
            nothing = Signal()
            m.d.comb += [emissions.i.eq(Cat(self.emit, self.first & ~self.start)), Cat(begins, nothing).eq(emissions.o)]
        else:
            m.d.comb += begins.eq(whole)
        last_word = self.words.beats - 1
        word = Signal(range(max(2, self.words.beats)), init=last_word, name="result_word")
        with m.If(begins):
            m.d.sync += word.eq(0)
        with m.Elif(word != last_word):
            m.d.sync += word.eq(word + 1)
        moves, width = self._result_moves(), min(self.out.bits, self.words.word_bits)
        if parts == 1 and self.words.beats <= SHIFTED and leaves_in_order(moves):
            results = Shared(ShiftOut(moves, width))
            m.d.comb += results.shift.eq(word != last_word)
        else:
            results = Shared(CornerTurn(moves, width, parts))
            m.d.comb += results.read_step.eq(word)
        m.submodules.results = results
        m.d.comb += [results.write.eq(complete), results.write_step.eq(block), results.values.eq(sums)]
        if parts > 1:
            part, written, leaving = (Signal(range(parts), name=name) for name in ("part", "written", "leaving"))
            following = Mux(part == parts - 1, 0, part + 1)
            stays = ~later(m, apart, self.plan.depth, "apart") if self.reduce else C(0, 1)
            m.d.comb += [written.eq(Mux(stays, part, following)), results.write_part.eq(written)]
            with m.If(whole):
                m.d.sync += part.eq(written)
            with m.If(begins):
                m.d.sync += leaving.eq(Mux(whole, written, part))
            m.d.comb += results.read_part.eq(leaving)
        result: Value = results.result
        if self.reduce:
            empty = Signal(reset_less=True)
            with m.If(begins):
                m.d.sync += empty.eq(nothing)
            result = Mux(empty, 0, result)
        m.d.comb += self.result.eq(result)


class MatmulModel(DatapathModel):
    """The simulation-only matrix product."""

    imported = (
        "step_matmul(input int rows, input int inner, input int cols, input int transposed, input int keep,"
        " input int width, input bit [31:0] first[], input bit [31:0] second[], inout bit [31:0] result[])"
    )

    def __init__(self, rtl: MatmulDatapath) -> None:
        super().__init__(rtl, [each.beats for each in rtl.operands], rtl.words.beats)
        self.rtl: MatmulDatapath = rtl

    @property
    def call(self) -> str:
        shape = self.rtl.arrangement
        keep = "32'(!first_now)" if self.rtl.reduce else "0"
        return (
            f"step_matmul({shape.rows}, {shape.inner}, {shape.cols}, {int(self.rtl.transposed)}, {keep},"
            f" {self.rtl.out.bits}, operand0_words, operand1_words, result_words)"
        )


def _out_of_words(scalar: int, dtype: DType, format: Words, step: int, port: int) -> Iterator[Move]:
    """The way of a scalar out of the words of a tile; in several pieces where words are narrower than scalars."""
    width = min(dtype.bits, format.word_bits)
    pieces, per_word = dtype.bits // width, format.word_bits // width
    for piece in range(pieces):
        word, place = divmod(scalar * pieces + piece, per_word)
        yield Move(word, place, step, port * pieces + piece)


def _width(extent: int) -> int:
    """Bits of a `counter`."""
    return max(1, (extent - 1).bit_length())
