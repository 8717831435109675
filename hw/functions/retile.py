"""Datapaths of functions that join tiles or split them."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.functions.datapath import Datapath, no_datapath
from hw.functions.store import Parts, Store, arriving, run
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
    lines = 1 if isinstance(function, RetileRow) else tile.shape[0]
    count, width = result.bits // tile.bits, tile.bits // lines
    wide, narrow = max(link, width), min(link, width)
    if lines == 1 and (wide % narrow == 0 or result.bits <= link):
        return RetileStore(count, width, link, control=tile.is_control)
    return RetileJoin(count, lines, width)


@datapath.register(RetileStreamify)
def _(function: RetileStreamify, application: Application) -> RetileSlicer:
    tile = application.inputs[0]
    assert isinstance(tile, Tile)
    (rows, cols), bits = tile.shape, tile.dtype.bits
    if function.axis == "row":
        return RetileSlicer(rows // function.chunk, 1, function.chunk * cols * bits)
    return RetileSlicer(cols // function.chunk, rows, function.chunk * bits)


class RetileStore(Datapath):
    """``result`` is the last ``count`` tiles of ``width`` bits one after the other, so it is right after so many.

    Tiles are whole words of the result, or whole parts of one; those that are ``control`` come in one piece, however
    narrow the link is. They are written where they belong; a word leaves before the next tiles overwrite it.
    """

    latency = 1
    streams = True

    def __init__(self, count: int, width: int, link_bits: int, *, control: bool) -> None:
        self.count, self.width, self.link_bits, self.control = count, width, link_bits, control
        self.initiation_interval = -(-width // link_bits)
        self.words = 1 if control else self.initiation_interval
        self.written = Parts(count * self.words, width if control else min(link_bits, width))
        result_bits = width if control and count == 1 else min(link_bits, count * width)
        self.left = Parts(-(-count * width // result_bits), result_bits)
        super().__init__([self.written.bits], self.left.bits, reduce=True)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.count, self.width, self.link_bits, self.control

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        _, (comes,) = arriving(m, self.start, [self.words])
        following = Signal(range(self.written.count))
        number = Signal(range(self.written.count))
        m.d.comb += number.eq(Mux(self.start & self.first, 0, following))
        with m.If(comes):
            m.d.sync += following.eq(number + 1)
        _, word, _ = run(m, "word", self.emit, self.left.count)
        store = Store(m, "tiles", self.written, self.left, 1)
        store.write(comes, number, C(0, 1), self.operand0)
        m.d.comb += self.result.eq(store.read(word, C(0, 1)))
        return m


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
