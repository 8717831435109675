"""Datapaths of functions that join tiles or split them."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.functions.datapath import Datapath, no_datapath
from hw.functions.store import Parts, Store, WordRegisters, arriving, run
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
    tile, result, link = application.inputs[0], application.result, 8 * application.fabric.link_bytes
    assert isinstance(tile, Tile) and isinstance(result, Tile)
    (rows, cols), bits = tile.shape, tile.dtype.bits
    if isinstance(function, RetileRow):
        return RetileJoin(int(result.rows) // rows, 1, rows * cols * bits, link)
    return RetileJoin(int(result.cols) // cols, rows, cols * bits, link)


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

    A tile is ``lines`` pieces of ``width`` bits; line i of the result has the pieces i of all tiles, oldest first.
    A bit of the last tile is never further ahead in the tile than in the result, so its words can leave as they come.
    """

    latency = 1
    streams = True

    def __init__(self, count: int, lines: int, width: int, link_bits: int) -> None:
        self.count, self.lines, self.width, self.link_bits = count, lines, width, link_bits
        self.tile_bits, bits = lines * width, count * lines * width
        self.initiation_interval = -(-self.tile_bits // link_bits)
        self.written = Parts(count * self.initiation_interval, min(link_bits, self.tile_bits))
        self.left = Parts(-(-bits // link_bits), min(link_bits, bits))
        super().__init__([self.written.bits], self.left.bits, reduce=True)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.count, self.lines, self.width, self.link_bits

    @property
    def in_order(self) -> bool:
        """Tiles follow one another in the result, as whole words or whole parts of one."""
        wide, narrow = max(self.link_bits, self.width), min(self.link_bits, self.width)
        return self.lines == 1 and (wide % narrow == 0 or self.left.count == 1)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        _, (comes,) = arriving(m, self.start, [self.initiation_interval])
        following, number = Signal(range(self.written.count)), Signal(range(self.written.count))
        begins = self.start & self.first
        m.d.comb += number.eq(Mux(begins, 0, following))
        with m.If(comes):
            m.d.sync += following.eq(number + 1)
        _, word, _ = run(m, "word", self.emit, self.left.count)
        if self.in_order:  # a word is read before the next tiles overwrite it
            store = Store(m, "tiles", self.written, self.left, 1)
            store.write(comes, number, C(0, 1), self.operand0)
            m.d.comb += self.result.eq(store.read(word, C(0, 1)))
            return m
        before, copy, leaving = Signal(), Signal(), Signal()
        m.d.comb += copy.eq(before ^ begins)
        m.d.sync += before.eq(copy)
        with m.If(self.emit):
            m.d.sync += leaving.eq(copy)
        registers = WordRegisters(m, "tile", self.written.count, self.written.bits, 2)
        registers.write(comes, number, copy, self.operand0)
        m.d.comb += self.result.eq(registers.read(leaving, lambda tiles: self._words(m, tiles), word))
        return m

    def _words(self, m: Module, tiles: Value) -> list[Value]:
        """The words of the result, out of the words of all tiles."""
        room = self.initiation_interval * self.written.bits
        pieces = [
            tiles[tile * room + line * self.width : tile * room + (line + 1) * self.width]
            for line in range(self.lines)
            for tile in range(self.count)
        ]
        result, bits = Signal(self.count * self.tile_bits), self.left.bits
        m.d.comb += result.eq(Cat(pieces))
        return [result[at * bits : (at + 1) * bits] for at in range(self.left.count)]


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
