"""Datapath that makes columns of rows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module

from hw.functions.datapath import Datapath
from step.functions.transpose import Transpose
from step.language.types import Tile
from step.lowering.application import Application


def datapath(function: Transpose, application: Application) -> Datapath:
    """The datapath: wires. A single row or column has the same words as before, others must be there as a whole."""
    tile, link_bits = application.inputs[0], 8 * application.fabric.link_bytes
    assert isinstance(tile, Tile)
    if 1 in tile.shape:
        return TransposeDatapath(1, 1, tile.bits if tile.is_control else min(tile.bits, link_bits), True)
    return TransposeDatapath(*tile.shape, tile.dtype.bits, False)


class TransposeDatapath(Datapath):
    """``result`` = ``operand0``, of ``rows`` x ``cols`` items of ``width`` bits, column by column."""

    clocked = False
    initiation_interval = 1
    latency = 0

    def __init__(self, rows: int, cols: int, width: int, streams: bool) -> None:
        self.rows, self.cols, self.width = rows, cols, width
        self.streams = streams
        super().__init__([rows * cols * width], rows * cols * width, reduce=False)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.rows, self.cols, self.width

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        places = [row * self.cols + col for col in range(self.cols) for row in range(self.rows)]
        m.d.comb += self.result.eq(Cat(self.operand0.word_select(place, self.width) for place in places))
        return m
