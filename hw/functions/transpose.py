"""Datapath that makes columns of rows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module

from hw.functions.datapath import Datapath
from step.functions.transpose import Transpose
from step.language.types import Tile
from step.lowering.plans.plan import Application, Plan


def datapath(function: Transpose, application: Application, plan: Plan) -> Datapath:
    """The datapath: wires. A single row or column has the same words as before, others must be there as a whole."""
    tile, link_bits = application.inputs[0], 8 * application.fabric.link_bytes
    assert isinstance(tile, Tile)
    if plan.streams:
        return TransposeDatapath(plan, 1, 1, tile.bits if tile.is_control else min(tile.bits, link_bits))
    return TransposeDatapath(plan, *tile.shape, tile.dtype.bits)


class TransposeDatapath(Datapath):
    """``result`` = ``operand0``, of ``rows`` x ``cols`` items of ``width`` bits, column by column."""

    clocked = False

    def __init__(self, plan: Plan, rows: int, cols: int, width: int) -> None:
        self.rows, self.cols, self.width = rows, cols, width
        super().__init__(plan, [rows * cols * width], rows * cols * width, reduce=False, latency=0)
        self.parameters = {"rows": self.rows, "columns": self.cols, "scalar_bits": self.width}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        places = [row * self.cols + col for col in range(self.cols) for row in range(self.rows)]
        m.d.comb += self.result.eq(Cat(self.operand0.word_select(place, self.width) for place in places))
        return m
