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
    arrangement = arrange(*left.shape, int(result.cols), fabric.matmul_lanes)
    rtl = MatmulDatapath(arrangement, function.transposed, result.dtype, application.reduce)
    return MatmulModel(rtl) if fabric.arithmetic == "model" else rtl


@dataclass(frozen=True)
class Arrangement:
    """How ``[rows, inner] x [inner, cols]`` is laid on lanes.

    A cycle computes a block of ``block_rows`` x ``block_cols`` scalars of the result, and for them ``depth``
    multiply-accumulates, one behind the other. Cycles go over inner first, then over the blocks of a row, then rows.
    """

    rows: int
    inner: int
    cols: int
    block_rows: int
    block_cols: int
    depth: int

    @property
    def row_blocks(self) -> int:
        return -(-self.rows // self.block_rows)

    @property
    def col_blocks(self) -> int:
        return -(-self.cols // self.block_cols)

    @property
    def steps(self) -> int:
        """Cycles on one block."""
        return -(-self.inner // self.depth)

    @property
    def cycles(self) -> int:
        return self.row_blocks * self.col_blocks * self.steps


def arrange(rows: int, inner: int, cols: int, lanes: int) -> Arrangement:
    """The arrangement on at most ``lanes`` lanes; it takes no more lanes than it needs for its number of cycles.

    Fewer lanes than columns: a part of a row. Fewer lanes than scalars in the result: whole rows. More: several
    inner indices in a cycle, chained, so that the path is that of ``depth`` adders.
    """

    def evenly(extent: int, most: int) -> int:
        """The least part that splits ``extent`` into as few parts as ``most`` does."""
        return -(-extent // -(-extent // min(extent, most)))

    if lanes < cols:
        return Arrangement(rows, inner, cols, 1, evenly(cols, lanes), 1)
    if lanes < rows * cols:
        return Arrangement(rows, inner, cols, evenly(rows, lanes // cols), cols, 1)
    return Arrangement(rows, inner, cols, rows, cols, evenly(inner, lanes // (rows * cols)))


class MatmulDatapath(Datapath):
    """``result`` = ``operand0`` x ``operand1``, plus the state in a reduction.

    Both operands are registered at the start, in the order of use: per cycle the left one moves by the scalars of one
    step within a block of rows, the right one by one group of `Arrangement.depth` rows. Scalars beyond the end of
    a tile give products of -0, which change no sum.
    """

    def __init__(self, arrangement: Arrangement, transposed: bool, out: DType, reduce: bool) -> None:
        self.arrangement, self.transposed, self.out, self.reduce = arrangement, transposed, out, reduce
        shape = arrangement
        self.initiation_interval = shape.cycles
        self.latency = shape.cycles + 1
        operands = [shape.rows * shape.inner * BF16.bits, shape.inner * shape.cols * BF16.bits]
        super().__init__(operands, shape.rows * shape.cols * out.bits, reduce=reduce)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.arrangement, self.transposed, self.out, self.reduce

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        shape = self.arrangement
        busy, block_ends, row_ends = Signal(), Signal(), Signal()
        begins, last_step = _counter(m, shape.steps, "step", busy)
        m.d.comb += block_ends.eq(busy & last_step)
        _, last_block = _counter(m, shape.col_blocks, "block", block_ends)
        m.d.comb += row_ends.eq(block_ends & last_block)
        _, last_row = _counter(m, shape.row_blocks, "row", row_ends)
        with m.If(self.start):
            m.d.sync += busy.eq(1)
        with m.Elif(row_ends & last_row):
            m.d.sync += busy.eq(0)

        fresh = begins
        if self.reduce:
            first = Signal(reset_less=True)
            with m.If(self.start):
                m.d.sync += first.eq(self.first)
            fresh = fresh & first
        left = self._left(m, busy, row_ends)
        right = self._right(m, busy)
        self._accumulate(m, left, right, fresh, busy, block_ends)
        return m

    def _left(self, m: Module, busy: Value, row_ends: Value) -> Signal:
        """The scalars of the left operand for this cycle: `block_rows` x `depth`."""
        shape = self.arrangement
        groups = [
            [
                Cat(
                    _scalar(self.operand0, i * shape.inner + k, C(0, 16), i < shape.rows and k < shape.inner)
                    for i in range(at * shape.block_rows, (at + 1) * shape.block_rows)
                    for k in range(step * shape.depth, (step + 1) * shape.depth)
                )
                for step in range(shape.steps)
            ]
            for at in range(shape.row_blocks)
        ]
        width = shape.block_rows * shape.depth * 16
        held = [
            [Signal(width, name=f"left_{at}_{step}", reset_less=True) for step in range(shape.steps)]
            for at in range(shape.row_blocks)
        ]
        with m.If(self.start):
            for registers, values in zip(held, groups, strict=True):
                m.d.sync += [register.eq(value) for register, value in zip(registers, values, strict=True)]
        with m.Elif(row_ends):
            for registers, following in pairwise(held):
                m.d.sync += [register.eq(value) for register, value in zip(registers, following, strict=True)]
        with m.Elif(busy):
            _rotate(m, held[0])
        return held[0][0]

    def _right(self, m: Module, busy: Value) -> Signal:
        """The scalars of the right operand for this cycle: `depth` x `block_cols`."""
        shape = self.arrangement
        across, down = (1, shape.inner) if not self.transposed else (shape.inner, 1)
        down = shape.cols if not self.transposed else 1
        groups = [
            Cat(
                _scalar(self.operand1, k * down + j * across, C(0x8000, 16), k < shape.inner and j < shape.cols)
                for k in range(step * shape.depth, (step + 1) * shape.depth)
                for j in range(at * shape.block_cols, (at + 1) * shape.block_cols)
            )
            for at in range(shape.col_blocks)
            for step in range(shape.steps)
        ]
        width = shape.depth * shape.block_cols * 16
        held = [Signal(width, name=f"right_{at}", reset_less=True) for at in range(len(groups))]
        with m.If(self.start):
            m.d.sync += [register.eq(value) for register, value in zip(held, groups, strict=True)]
        with m.Elif(busy):
            _rotate(m, held)
        return held[0]

    def _accumulate(self, m: Module, left: Signal, right: Signal, fresh: Value, busy: Value, block_ends: Value) -> None:
        """The lanes, and the registers behind them.

        A reduction keeps its state there and rotates it by one block after the other; else every block starts at zero,
        and moves on to the result when it is complete.
        """
        shape = self.arrangement
        lanes = shape.block_rows * shape.block_cols
        blocks = shape.row_blocks * shape.col_blocks
        sums = [Signal(32, name=f"sum_{lane}", reset_less=True) for lane in range(lanes)]
        following = []
        for lane, held in enumerate(sums):
            i, j = divmod(lane, shape.block_cols)
            value: Value = Mux(fresh, 0, held)
            for k in range(shape.depth):
                unit = Shared(MultiplyAccumulate())
                m.submodules[f"lane_{lane}_{k}"] = unit
                m.d.comb += [
                    unit.sum.eq(value),
                    unit.first.eq(left.word_select(i * shape.depth + k, 16)),
                    unit.second.eq(right.word_select(k * shape.block_cols + j, 16)),
                ]
                value = unit.result
            following.append(value)
        if self.reduce:
            done = [Cat(sums), *(Signal(lanes * 32, name=f"state_{at}", reset_less=True) for at in range(1, blocks))]
            with m.If(block_ends):
                m.d.sync += [register.eq(value) for register, value in pairwise(done)]
                m.d.sync += done[-1].eq(Cat(following))
            with m.Elif(busy):
                m.d.sync += done[0].eq(Cat(following))
        else:
            done = [Signal(lanes * self.out.bits, name=f"done_{at}", reset_less=True) for at in range(blocks)]
            if shape.steps > 1:
                with m.If(busy):
                    m.d.sync += [held.eq(value) for held, value in zip(sums, following, strict=True)]
            with m.If(block_ends):
                m.d.sync += [register.eq(value) for register, value in pairwise(done)]
                m.d.sync += done[-1].eq(Cat(self._rounded(m, lane, value) for lane, value in enumerate(following)))
        m.d.comb += self.result.eq(Cat(self._scalars(done)))

    def _rounded(self, m: Module, lane: int, value: Value) -> Value:
        """A complete sum in the format of the result."""
        if self.out is FP32:
            return value
        m.submodules[f"round_{lane}"] = unit = Shared(Convert(FP32, self.out))
        m.d.comb += unit.value.eq(value)
        return unit.result

    def _scalars(self, blocks: list[Value]) -> list[Value]:
        """The scalars of the result, row by row, out of ``blocks``."""
        shape = self.arrangement
        scalars = []
        for i in range(shape.rows):
            for j in range(shape.cols):
                block = blocks[i // shape.block_rows * shape.col_blocks + j // shape.block_cols]
                place = i % shape.block_rows * shape.block_cols + j % shape.block_cols
                scalars.append(block[place * self.out.bits : (place + 1) * self.out.bits])
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


def _counter(m: Module, extent: int, name: str, advance: Value) -> tuple[Value, Value]:
    """A register that counts to ``extent`` again and again: whether it is at its first and at its last value."""
    if extent == 1:
        return C(1, 1), C(1, 1)
    count, last = Signal(range(extent), name=name), Signal(name=f"last_{name}")
    m.d.comb += last.eq(count == extent - 1)
    with m.If(advance):
        m.d.sync += count.eq(Mux(last, 0, count + 1))
    return count == 0, last


def _scalar(tile: Value, index: int, beyond: Value, exists: bool) -> Value:
    """Scalar ``index`` of a BF16 tile, or ``beyond`` where it does not exist."""
    return tile[index * 16 : (index + 1) * 16] if exists else beyond


def _rotate(m: Module, registers: list[Signal]) -> None:
    """Every register takes the value of the next one, the last that of the first."""
    if len(registers) > 1:
        m.d.sync += [to.eq(source) for to, source in zip(registers, [*registers[1:], registers[0]], strict=True)]
