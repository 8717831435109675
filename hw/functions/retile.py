"""Datapaths of functions that join tiles or split them."""

from __future__ import annotations

import math
from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.functions.corner_turn import CornerTurn, Move
from hw.functions.datapath import Datapath, no_datapath
from hw.functions.packed_rows import PackedRows
from hw.functions.store import Parts, Store
from hw.primitives.timing import delayed, window, window_from_start, window_place, word_window
from hw.verilog.modules import Parametric, Shared
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.retile import JoinPlan, SplitPlan
from step.lowering.plans.rows import parts


def datapath(function: Function, application: Application, plan: Any) -> Parametric:
    """The datapath for a tile; to split, a `RetileSlicer`."""
    match function:
        case RetileStreamify():
            return RetileSlicer(plan, plan.pieces)
        case RetileRow() | RetileCol() if plan.packs:
            return PackedRows(plan)
        case RetileRow() | RetileCol() if plan.in_rows:
            return RetileStore(plan, control=application.is_control(0), dynamic=application.dynamic)
        case RetileRow() | RetileCol():
            return RetileColumns(plan) if plan.in_columns else RetileJoin(plan)
    raise no_datapath(function)


class RetileStore(Datapath):
    """``result`` is the last ``count`` tiles of ``width`` bits one after the other, so it is right after so many.

    Tiles are whole words of the result, or whole parts of one; those that are ``control`` come in one piece, however
    narrow the link is. They are written where they belong; a word leaves before the next tiles overwrite it.
    ``dynamic``: the result may be fewer tiles, also ones of fewer rows, which are whole words then.
    """

    adds_rows = True
    """The state has the rows of all elements together."""

    def __init__(self, plan: JoinPlan, *, control: bool, dynamic: bool = False) -> None:
        self.dynamic = dynamic
        count, width, link_bits = plan.count, plan.width, plan.link_bits
        self.count, self.width, self.link_bits, self.control = count, width, link_bits, control
        self.words = 1 if control else -(-width // link_bits)
        self.written = Parts(count * self.words, width if control else min(link_bits, width))
        result_bits = width if control and count == 1 else min(link_bits, count * width)
        self.left = Parts(-(-count * width // result_bits), result_bits)
        self.row, self.bits = plan.row, min(plan.bits, self.left.bits)  # the store is whole tiles
        super().__init__(
            plan,
            [self.written.bits],
            self.bits,
            reduce=True,
            latency=1,
            busy=self.words,
            most_rows=self.width // self.row if self.row else 0,
        )
        self.parameters = {
            "tiles": self.count,
            "width": self.width,
            "link_bits": self.link_bits,
            "control": self.control,
            "row_bits": self.row if self.dynamic else 0,
            "most_bits": self.bits if self.dynamic else 0,
        }

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        if self.row:
            comes, _ = window_from_start(m, self.start, parts(self.rows, self.row, self.link_bits), self.words)
        else:
            _, (comes,) = word_window(m, self.start, [self.words])
        following = Signal(range(self.written.count))
        number = Signal(range(self.written.count))
        begins = self.first
        if self.dynamic:  # tiles without rows do not start
            begins = Signal(init=1, name="begins")
            m.d.sync += begins.eq(self.emit | (begins & ~self.start))
        m.d.comb += number.eq(Mux(self.start & begins, 0, following))
        with m.If(comes):
            m.d.sync += following.eq(number + 1)
        if self.dynamic:
            word = delayed(m, window_place(m, "word", self.emit, self.left.count - 1), 1, "word")
        else:
            _, word, _ = window(m, "word", self.emit, self.left.count)
        store = Store(m, "tiles", self.written, self.left, 1)
        store.write(comes, number, C(0, 1), self.operand0)
        m.d.comb += self.result.eq(store.read(word, C(0, 1))[: self.bits])
        return m


class RetileColumns(Datapath):
    """``result`` is the last ``count`` tiles side by side, so it is right after so many.

    A tile is ``lines`` pieces of ``width`` bits, whole words or whole parts of one. Line i of the result has the pieces
    i of all tiles, oldest lowest: so words leave in another order, while the next tiles go into the other part of a
    memory. Where only a run tells the number of lines, those of a tile lie as if it had the most.
    """

    def __init__(self, plan: JoinPlan) -> None:
        self.dynamic = plan.row > 0
        self.count, self.lines, self.width, self.link_bits = plan.count, plan.lines, plan.width, plan.link_bits
        self.written, self.left = (Parts(-(-bits // plan.link_bits), min(bits, plan.link_bits)) for bits in self._bits)
        super().__init__(
            plan,
            [self.written.bits],
            self.left.bits,
            reduce=True,
            latency=1,
            busy=self.written.count,
            most_rows=self.lines if self.dynamic else 0,
        )
        self.parameters = {
            "tiles": self.count,
            "lines": self.lines,
            "part_bits": self.width,
            "link_bits": self.link_bits,
            "dynamic": self.dynamic,
        }

    @property
    def _bits(self) -> tuple[int, int]:
        """Bits of a tile and of the result."""
        return self.lines * self.width, self.count * self.lines * self.width

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        _, (comes,) = word_window(m, self.start, [self.written.count])
        begins, part, fills, leaves = Signal(), Signal(), Signal(), Signal()
        following = Signal(range(self.count * self.written.count))
        number = Signal.like(following)
        m.d.comb += [begins.eq(self.start & self.first), fills.eq(part ^ begins)]
        if self.dynamic:
            base, tile = Signal.like(following), Signal.like(following)
            m.d.comb += [tile.eq(Mux(self.first, 0, base + self.written.count)), number.eq(following)]
            with m.If(self.start):
                m.d.comb += number.eq(tile)
                m.d.sync += base.eq(tile)
        else:
            m.d.comb += number.eq(Mux(begins, 0, following))
        m.d.sync += part.eq(fills)
        with m.If(comes):
            m.d.sync += following.eq(number + 1)
        with m.If(self.emit):
            m.d.sync += leaves.eq(fills)
        if self.dynamic:
            word = delayed(m, window_place(m, "word", self.emit, self.left.count - 1), 1, "word")
        else:
            _, word, _ = window(m, "word", self.emit, self.left.count)
        m.submodules.tiles = tiles = Shared(CornerTurn(self._moves(), math.gcd(self.width, self.link_bits), 2))
        m.d.comb += [
            *(tiles.write.eq(comes), tiles.write_part.eq(fills), tiles.write_step.eq(number)),
            *(tiles.values.eq(self.operand0), tiles.read_part.eq(leaves), tiles.read_step.eq(word)),
            self.result.eq(tiles.result),
        ]
        return m

    def _moves(self) -> tuple[Move, ...]:
        """From the words of the tiles to those of the result, by items: pieces, or words where those are less."""
        item = math.gcd(self.width, self.link_bits)
        pieces, enter, leave = self.width // item, self.written.bits // item, self.left.bits // item
        moves: list[Move] = []
        for tile in range(self.count):
            for line in range(self.lines):
                for piece in range(pieces):
                    word, port = divmod(line * pieces + piece, enter)
                    to = divmod((line * self.count + tile) * pieces + piece, leave)
                    moves.append(Move(tile * self.written.count + word, port, *to))
        return tuple(moves)


class RetileJoin(Datapath):
    """``result`` is the last ``count`` tiles, so it is right after so many.

    A tile is ``lines`` pieces of ``width`` bits; line i of the result has the pieces i of all tiles, oldest lowest.
    """

    def __init__(self, plan: JoinPlan) -> None:
        self.count, self.lines, self.width = plan.count, plan.lines, plan.width
        tile = self.lines * self.width
        super().__init__(plan, [tile], self.count * tile, reduce=True, latency=1)
        self.parameters = {"tiles": self.count, "lines": self.lines, "part_bits": self.width}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        tiles = [Signal(self.lines * self.width, name=f"tile_{at}", reset_less=True) for at in range(self.count)]
        with m.If(self.start):
            m.d.sync += [to.eq(source) for to, source in zip(tiles, [*tiles[1:], self.operand0], strict=True)]
        lines = [tile.word_select(line, self.width) for line in range(self.lines) for tile in tiles]
        m.d.comb += self.result.eq(Cat(lines))
        return m


class RetileSlicer(Parametric):
    """``result`` = piece ``index`` of ``operand0``, combinational; that has ``pieces`` of a tile's.

    It is ``lines`` times ``pieces`` parts of ``width`` bits; a piece has its part of every line.
    """

    clocked = False

    def __init__(self, plan: SplitPlan, pieces: int) -> None:
        self.plan, self.pieces, self.lines, self.width = plan, pieces, plan.lines, plan.width
        bits = self.lines * self.width
        super().__init__({"operand0": In(pieces * bits), "index": In(range(max(2, pieces))), "result": Out(bits)})
        self.parameters = {"pieces": self.pieces, "lines": self.lines, "part_bits": self.width}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pieces: list[Value] = [
            Cat(self.operand0.word_select(line * self.pieces + piece, self.width) for line in range(self.lines))
            for piece in range(self.pieces)
        ]
        m.d.comb += self.result.eq(Array(pieces)[self.index])
        return m
