"""Datapaths of functions that join tiles or split them."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.functions.corner_turn import CornerTurn, moves_of
from hw.functions.datapath import HARDWARE, Datapath, Hardware
from hw.functions.packed_rows import PackedRows
from hw.functions.store import Store
from hw.primitives.timing import held, window_from_start, word_window
from hw.verilog.modules import Parametric, Shared
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.lowering.plans.retile import JoinPlan, SplitPlan
from step.lowering.plans.rows import parts


class RetileStore(Datapath):
    """``result`` is the last tiles one after the other, or side by side, so it is right after so many.

    One after the other, tiles are whole words of the result, or whole parts of one. They are written where they belong;
    a word leaves before the next tiles overwrite it. The result may be fewer tiles, also ones of fewer rows, which are
    whole words then.

    Side by side, a tile is lines of pieces, whole words or whole parts of one. Line i of the result has the pieces i of
    all tiles, oldest lowest: so words leave in another order, while the next tiles go into the other part of a memory.
    Where only a run tells the number of lines, those of a tile lie as if it had the most.
    """

    plan: JoinPlan

    def value(self, m: Module) -> Value:
        plan, columns = self.plan, self.plan.kind == "columns"
        if plan.row and not columns:
            comes, _ = window_from_start(m, self.start, parts(self.rows, plan.row, plan.link_bits), plan.words)
        else:
            _, (comes,) = word_window(m, self.start, [plan.words])
        begins, number = Signal(name="begins"), Signal(range(plan.store.written.count), name="number")
        following = Signal.like(number, name="following")
        onward: Value = following
        if plan.dynamic:  # tiles without rows do not start
            fresh = Signal(init=1, name="fresh")
            m.d.sync += fresh.eq(self.emit | (fresh & ~self.start))
        elif plan.row:
            tile = held(m, number, self.start, "tile")
            onward = Mux(self.start, tile + plan.words, following)
        m.d.comb += begins.eq(self.start & (fresh if plan.dynamic else self.first))
        m.d.comb += number.eq(Mux(begins, 0, onward))
        with m.If(comes):
            m.d.sync += following.eq(number + 1)
        word = self.emitted(m, plan.store.read.count, plan.dynamic or plan.row > 0)
        if columns:
            return self._turned(m, begins, comes, number, word)
        store = Store(m, "tiles", plan.store)
        store.write(comes, number, self.operand0)
        return store.read(word)[: plan.result_bits]

    def _turned(self, m: Module, begins: Value, comes: Value, number: Value, word: Value) -> Value:
        """Let ``word`` leave a part, and what ``comes``, with its ``number``, go into the other one."""
        plan, before = self.plan, Signal(name="part")
        item = math.gcd(plan.width, plan.link_bits)
        pieces, enter, leave = (each // item for each in (plan.width, *plan.operand_bits, plan.result_bits))
        places = product(range(plan.count), range(plan.lines), range(pieces))
        ways = (
            (tile * plan.words * enter + line * pieces + piece, (line * plan.count + tile) * pieces + piece)
            for tile, line, piece in places
        )
        m.submodules.tiles = tiles = Shared(CornerTurn(moves_of(ways, enter, leave), item, 2))
        m.d.sync += before.eq(tiles.write_part)
        m.d.comb += [
            *(tiles.write.eq(comes), tiles.write_part.eq(before ^ begins), tiles.write_step.eq(number)),
            *(tiles.values.eq(self.operand0), tiles.read_step.eq(word)),
            tiles.read_part.eq(held(m, tiles.write_part, self.emit, "leaves")),
        ]
        return tiles.result


class RetileJoin(Datapath):
    """``result`` is the last tiles, which are there as a whole, so it is right after so many.

    A tile is lines of pieces; line i of the result has the pieces i of all tiles, oldest lowest.
    """

    plan: JoinPlan

    def value(self, m: Module) -> Value:
        plan, bits = self.plan, self.plan.bits_of_a_tile
        tiles = [Signal(bits, name=f"tile_{at}", reset_less=True) for at in range(plan.count)]
        with m.If(self.start):
            m.d.sync += [to.eq(source) for to, source in zip(tiles, [*tiles[1:], self.operand0], strict=True)]
        lines = [tile.word_select(line, plan.width) for line in range(plan.lines) for tile in tiles]
        return Cat(lines)


class RetileSlicer(Hardware, Parametric, of=RetileStreamify):
    """``result`` = piece ``index`` of ``operand0``, combinational; that has all ``pieces`` of a tile, or so many.

    It is ``lines`` times ``pieces`` parts of ``width`` bits; a piece has its part of every line.
    """

    clocked = False

    def __init__(self, plan: SplitPlan, pieces: int | None = None) -> None:
        self.plan, self.pieces, self.lines, self.width = plan, pieces or plan.pieces, plan.lines, plan.width
        bits = self.lines * self.width
        places = range(max(2, self.pieces))
        super().__init__({"operand0": In(self.pieces * bits), "index": In(places), "result": Out(bits)})
        self.parameters = {"pieces": self.pieces, "lines": self.lines, "part_bits": self.width}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pieces: list[Value] = [
            Cat(self.operand0.word_select(line * self.pieces + piece, self.width) for line in range(self.lines))
            for piece in range(self.pieces)
        ]
        m.d.comb += self.result.eq(Array(pieces)[self.index])
        return m


JOINS = {"packed": PackedRows, "rows": RetileStore, "columns": RetileStore, "registers": RetileJoin}
HARDWARE.update(dict.fromkeys((RetileCol, RetileRow), lambda plan: JOINS[plan.kind](plan)))
