"""Datapaths of functions that join tiles or split them."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.functions.datapath import Datapath, no_datapath
from hw.shared import Parametric
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.language.function import Function
from step.language.types import Tile
from step.lowering.application import Application


@singledispatch
def datapath(function: Function, application: Application) -> Parametric:
    """The datapath for a tile; to split, a `RetileSlicer`."""
    raise no_datapath(function)


@datapath.register(RetileRow)
@datapath.register(RetileCol)
def _(function: RetileRow | RetileCol, application: Application) -> Datapath:
    tile, result = application.inputs[0], application.result
    assert isinstance(tile, Tile) and isinstance(result, Tile)
    (rows, cols), bits = tile.shape, tile.dtype.bits
    if isinstance(function, RetileRow):
        return RetileJoin(int(result.rows) // rows, 1, rows * cols * bits)
    return RetileJoin(int(result.cols) // cols, rows, cols * bits)


@datapath.register(RetileStreamify)
def _(function: RetileStreamify, application: Application) -> RetileSlicer:
    tile = application.inputs[0]
    assert isinstance(tile, Tile)
    (rows, cols), bits = tile.shape, tile.dtype.bits
    if function.axis == "row":
        return RetileSlicer(rows // function.chunk, 1, function.chunk * cols * bits)
    return RetileSlicer(cols // function.chunk, rows, function.chunk * bits)


class RetileJoin(Datapath):
    """``result`` is the last ``count`` tiles, so it is right after so many.

    A tile is ``lines`` pieces of ``width`` bits; line i of the result has the pieces i of all tiles, oldest lowest.
    """

    initiation_interval = 1
    latency = 1

    def __init__(self, count: int, lines: int, width: int) -> None:
        self.count, self.lines, self.width = count, lines, width
        super().__init__([lines * width], count * lines * width, reduce=True)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.count, self.lines, self.width

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        tiles = [Signal(self.lines * self.width, name=f"tile_{at}", reset_less=True) for at in range(self.count)]
        with m.If(self.start):
            m.d.sync += [to.eq(source) for to, source in zip(tiles, [*tiles[1:], self.operand0], strict=True)]
        lines = [tile.word_select(line, self.width) for line in range(self.lines) for tile in tiles]
        m.d.comb += self.result.eq(Cat(lines))
        return m


class RetileSlicer(Parametric):
    """``result`` = piece ``index`` of ``operand0``, combinational; a tile has ``pieces`` of them.

    A tile is ``lines`` times ``pieces`` parts of ``width`` bits; a piece has its part of every line.
    """

    clocked = False
    initiation_interval = 1
    latency = 0

    def __init__(self, pieces: int, lines: int, width: int) -> None:
        self.pieces, self.lines, self.width = pieces, lines, width
        bits = pieces * lines * width
        super().__init__({"operand0": In(bits), "index": In(range(max(2, pieces))), "result": Out(lines * width)})

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.pieces, self.lines, self.width

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pieces: list[Value] = [
            Cat(self.operand0.word_select(line * self.pieces + piece, self.width) for line in range(self.lines))
            for piece in range(self.pieces)
        ]
        m.d.comb += self.result.eq(Array(pieces)[self.index])
        return m
