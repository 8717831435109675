"""Datapath of the matrix product."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.arithmetic.convert import Convert
from hw.arithmetic.model import DatapathModel
from hw.arithmetic.multiply_accumulate import MultiplyAccumulate
from hw.functions.datapath import Datapath, no_datapath
from hw.functions.sequence import counter, later, loop_store
from hw.shared import Shared
from step.functions.matmul import Matmul
from step.language.dtypes import BF16, FP32, DType
from step.language.function import Function
from step.language.types import Tile
from step.lowering.application import Application


def datapath(function: Function, application: Application) -> Datapath:
    """The datapath for two tiles, on `matmul_lanes` lanes."""
    if not isinstance(function, Matmul):
        raise no_datapath(function)
    left, result, fabric = application.inputs[0], application.result, application.fabric
    assert isinstance(left, Tile) and isinstance(result, Tile)
    arrangement = arrange(*left.shape, int(result.cols), fabric.matmul_lanes, fabric.stages)
    rtl = MatmulDatapath(arrangement, function.transposed, result.dtype, application.reduce)
    return MatmulModel(rtl) if fabric.arithmetic == "model" else rtl


@dataclass(frozen=True)
class Arrangement:
    """How ``[rows, inner] x [inner, cols]`` is laid on lanes.

    A cycle works on a block of ``block_rows`` x ``block_cols`` scalars of the result, a lane for each. For every k the
    blocks take turns, row by row; a *turn* is as many cycles, and not less than ``stages``: so long it takes until
    a sum is there again.
    """

    rows: int
    inner: int
    cols: int
    block_rows: int
    block_cols: int
    stages: int

    @property
    def row_blocks(self) -> int:
        return -(-self.rows // self.block_rows)

    @property
    def col_blocks(self) -> int:
        return -(-self.cols // self.block_cols)

    @property
    def blocks(self) -> int:
        return self.row_blocks * self.col_blocks

    @property
    def lanes(self) -> int:
        return self.block_rows * self.block_cols

    @property
    def turn(self) -> int:
        return max(self.blocks, self.stages)


def arrange(rows: int, inner: int, cols: int, lanes: int, stages: int) -> Arrangement:
    """The arrangement with the shortest turn on at most ``lanes`` lanes, and of those the one with the fewest lanes.

    Where there is a choice left, blocks are as wide as possible, so that results come in order.
    """
    shapes = {(-(-rows // down), -(-cols // across)) for down in range(1, rows + 1) for across in range(1, cols + 1)}
    possible = (Arrangement(rows, inner, cols, *shape, stages) for shape in shapes if shape[0] * shape[1] <= lanes)
    return min(possible, key=lambda each: (each.turn, each.lanes, each.blocks, each.block_rows))


class MatmulDatapath(Datapath):
    """``result`` = ``operand0`` x ``operand1``, plus the state in a reduction.

    Both operands are registered at the start, in the order of use, and move by a block of rows or of columns. The sums
    go round through the lanes and a store, and move on to the result behind the last k.
    """

    def __init__(self, arrangement: Arrangement, transposed: bool, out: DType, reduce: bool) -> None:
        self.arrangement, self.transposed, self.out, self.reduce = arrangement, transposed, out, reduce
        shape = arrangement
        self.lane = MultiplyAccumulate(shape.stages)
        self.initiation_interval = shape.inner * shape.turn
        idle = shape.turn - shape.blocks  # cycles of a turn behind its last block
        self.latency = 1 + self.initiation_interval - idle + self.lane.depth + (out is not FP32)
        operands = [shape.rows * shape.inner * BF16.bits, shape.inner * shape.cols * BF16.bits]
        super().__init__(operands, shape.rows * shape.cols * out.bits, reduce=reduce)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.arrangement, self.transposed, self.out, self.reduce

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        shape = self.arrangement
        busy, active = Signal(), Signal()
        slot, turn_ends = counter(m, shape.turn, "slot", busy)
        k, last_k = counter(m, shape.inner, "k", busy & turn_ends)
        m.d.comb += active.eq(busy & (slot < shape.blocks))
        with m.If(self.start):
            m.d.sync += busy.eq(1)
        with m.Elif(turn_ends & last_k):
            m.d.sync += busy.eq(0)

        fresh = k == 0
        if self.reduce:
            first = Signal(reset_less=True)
            with m.If(self.start):
                m.d.sync += first.eq(self.first)
            fresh = fresh & first
        left, right = self._left(m, active), self._right(m, active, turn_ends)
        sums = self._accumulate(m, left, right, fresh, active)
        self._finish(m, sums, later(m, active & last_k, self.lane.depth, "complete"))
        return m

    def _left(self, m: Module, active: Value) -> Value:
        """The scalars of the left operand for this cycle: `block_rows`."""
        shape = self.arrangement
        groups = [
            Cat(
                _scalar(self.operand0, i * shape.inner + k, i < shape.rows)
                for i in range(at * shape.block_rows, (at + 1) * shape.block_rows)
            )
            for k in range(shape.inner)
            for at in range(shape.row_blocks)
        ]
        _, row_ends = counter(m, shape.col_blocks, "across", active)
        held = [Signal(len(group), name=f"left_{at}", reset_less=True) for at, group in enumerate(groups)]
        with m.If(self.start):
            m.d.sync += [register.eq(value) for register, value in zip(held, groups, strict=True)]
        with m.Elif(active & row_ends):
            m.d.sync += [register.eq(following) for register, following in pairwise(held)]
        return held[0]

    def _right(self, m: Module, active: Value, turn_ends: Value) -> Value:
        """The scalars of the right operand for this cycle: `block_cols`. Those of a k come again for every row."""
        shape = self.arrangement
        across, down = (shape.inner, 1) if self.transposed else (1, shape.cols)
        groups = [
            [
                Cat(
                    _scalar(self.operand1, k * down + j * across, j < shape.cols)
                    for j in range(at * shape.block_cols, (at + 1) * shape.block_cols)
                )
                for at in range(shape.col_blocks)
            ]
            for k in range(shape.inner)
        ]
        held = [
            [Signal(len(group), name=f"right_{k}_{at}", reset_less=True) for at, group in enumerate(each)]
            for k, each in enumerate(groups)
        ]
        with m.If(self.start):
            for registers, values in zip(held, groups, strict=True):
                m.d.sync += [register.eq(value) for register, value in zip(registers, values, strict=True)]
        with m.Elif(turn_ends):
            for registers, following in pairwise(held):
                m.d.sync += [register.eq(value) for register, value in zip(registers, following, strict=True)]
        with m.Elif(active):
            now = held[0]
            m.d.sync += [register.eq(value) for register, value in zip(now, [*now[1:], now[0]], strict=True)]
        return held[0][0]

    def _accumulate(self, m: Module, left: Value, right: Value, fresh: Value, active: Value) -> Value:
        """The sums that leave the lanes."""
        shape = self.arrangement
        sums = Signal(shape.lanes * 32)
        enters = later(m, active, self.lane.product_cycles, "enters")
        leaves = later(m, enters, self.lane.add.depth, "leaves")
        block, _ = counter(m, shape.blocks, "block", enters)
        state: Value = C(0, len(sums))
        if self.reduce or shape.inner > 1:
            fresh = later(m, fresh, self.lane.product_cycles, "fresh")
            state = Mux(fresh, 0, loop_store(m, shape.blocks, block, leaves, sums))
        for lane in range(shape.lanes):
            i, j = divmod(lane, shape.block_cols)
            m.submodules[f"lane_{lane}"] = unit = Shared(MultiplyAccumulate(shape.stages))
            m.d.comb += [
                unit.first.eq(left.word_select(i, 16)),
                unit.second.eq(right.word_select(j, 16)),
                unit.sum.eq(state.word_select(lane, 32)),
                sums.word_select(lane, 32).eq(unit.result),
            ]
        return sums

    def _finish(self, m: Module, sums: Value, complete: Value) -> None:
        """Gather the ``complete`` sums, in the format of the result."""
        shape = self.arrangement
        if self.out is not FP32:
            sums, complete = self._rounded(m, sums), later(m, complete, 1, "rounded")
        done = [Signal(len(sums), name=f"done_{at}", reset_less=True) for at in range(shape.blocks)]
        with m.If(complete):
            m.d.sync += [register.eq(value) for register, value in pairwise([*done, sums])]
        m.d.comb += self.result.eq(Cat(self._scalars(done)))

    def _rounded(self, m: Module, sums: Value) -> Value:
        """The sums of the cycle before in the format of the result."""
        before = Signal(len(sums), reset_less=True)
        m.d.sync += before.eq(sums)
        rounded = []
        for lane in range(self.arrangement.lanes):
            m.submodules[f"round_{lane}"] = unit = Shared(Convert(FP32, self.out))
            m.d.comb += unit.value.eq(before.word_select(lane, 32))
            rounded.append(unit.result)
        return Cat(rounded)

    def _scalars(self, blocks: list[Signal]) -> list[Value]:
        """The scalars of the result, row by row, out of ``blocks``."""
        shape = self.arrangement
        scalars = []
        for i in range(shape.rows):
            for j in range(shape.cols):
                block = blocks[i // shape.block_rows * shape.col_blocks + j // shape.block_cols]
                place = i % shape.block_rows * shape.block_cols + j % shape.block_cols
                scalars.append(block.word_select(place, self.out.bits))
        return scalars


class MatmulModel(DatapathModel):
    """The simulation-only matrix product."""

    imported = (
        "step_matmul(input int rows, input int inner, input int cols, input int transposed, input int keep,"
        " input int width, input bit [31:0] first[], input bit [31:0] second[], inout bit [31:0] result[])"
    )

    def __init__(self, rtl: MatmulDatapath) -> None:
        super().__init__(rtl)
        self.rtl: MatmulDatapath = rtl

    @property
    def call(self) -> str:
        shape = self.rtl.arrangement
        keep = "32'(!first)" if self.rtl.reduce else "0"
        return (
            f"step_matmul({shape.rows}, {shape.inner}, {shape.cols}, {int(self.rtl.transposed)}, {keep},"
            f" {self.rtl.out.bits}, operand0_words, operand1_words, result_words)"
        )


def _scalar(tile: Value, index: int, exists: bool) -> Value:
    """Scalar ``index`` of a BF16 tile; a lane beyond its end has nothing to do."""
    return tile.word_select(index, 16) if exists else C(0, 16)
