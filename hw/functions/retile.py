"""Datapaths of functions that join tiles or split them."""

from __future__ import annotations

import math
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.functions.corner_turn import CornerTurn, Move
from hw.functions.datapath import Datapath, made_by
from hw.functions.packed_rows import PackedRows
from hw.functions.store import Store
from hw.primitives.timing import window_from_start, word_window
from hw.verilog.modules import Parametric, Shared
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.lowering.plans.retile import JoinPlan, SplitPlan
from step.lowering.plans.rows import parts


class RetileStore(Datapath):
    """``result`` is the last tiles one after the other, so it is right after so many.

    Tiles are whole words of the result, or whole parts of one. They are written where they belong; a word leaves before
    the next tiles overwrite it. The result may be fewer tiles, also ones of fewer rows, which are whole words then.
    """

    adds_rows = True
    """The state has the rows of all elements together."""

    plan: JoinPlan

    def elaborate(self, platform: Any) -> Module:
        m, plan = Module(), self.plan
        if plan.row:
            comes, _ = window_from_start(m, self.start, parts(self.rows, plan.row, plan.link_bits), plan.words)
        else:
            _, (comes,) = word_window(m, self.start, [plan.words])
        following = Signal(range(plan.store.written.count))
        number = Signal(range(plan.store.written.count))
        begins = self.first
        if plan.dynamic:  # tiles without rows do not start
            begins = Signal(init=1, name="begins")
            m.d.sync += begins.eq(self.emit | (begins & ~self.start))
        m.d.comb += number.eq(Mux(self.start & begins, 0, following))
        with m.If(comes):
            m.d.sync += following.eq(number + 1)
        word = self.emitted(m, plan.store.read.count, plan.dynamic)
        store = Store(m, "tiles", plan.store)
        store.write(comes, number, self.operand0)
        m.d.comb += self.result.eq(store.read(word)[: plan.result_bits])
        return m


class RetileColumns(Datapath):
    """``result`` is the last tiles side by side, so it is right after so many.

    A tile is lines of pieces, whole words or whole parts of one. Line i of the result has the pieces i of all tiles,
    oldest lowest: so words leave in another order, while the next tiles go into the other part of a memory. Where only
    a run tells the number of lines, those of a tile lie as if it had the most.
    """

    plan: JoinPlan

    def elaborate(self, platform: Any) -> Module:
        m, plan, dynamic = Module(), self.plan, self.plan.row > 0
        _, (comes,) = word_window(m, self.start, [plan.words])
        begins, part, fills, leaves = Signal(), Signal(), Signal(), Signal()
        following = Signal(range(plan.store.written.count))
        number = Signal.like(following)
        m.d.comb += [begins.eq(self.start & self.first), fills.eq(part ^ begins)]
        if dynamic:
            base, tile = Signal.like(following), Signal.like(following)
            m.d.comb += [tile.eq(Mux(self.first, 0, base + plan.words)), number.eq(following)]
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
        word = self.emitted(m, plan.store.read.count, dynamic)
        m.submodules.tiles = tiles = Shared(CornerTurn(self._moves(), math.gcd(plan.width, plan.link_bits), 2))
        m.d.comb += [
            *(tiles.write.eq(comes), tiles.write_part.eq(fills), tiles.write_step.eq(number)),
            *(tiles.values.eq(self.operand0), tiles.read_part.eq(leaves), tiles.read_step.eq(word)),
            self.result.eq(tiles.result),
        ]
        return m

    def _moves(self) -> tuple[Move, ...]:
        """From the words of the tiles to those of the result, by items: pieces, or words where those are less."""
        plan = self.plan
        item = math.gcd(plan.width, plan.link_bits)
        pieces, enter, leave = (each // item for each in (plan.width, *plan.operand_bits, plan.result_bits))
        moves: list[Move] = []
        for tile in range(plan.count):
            for line in range(plan.lines):
                for piece in range(pieces):
                    word, port = divmod(line * pieces + piece, enter)
                    to = divmod((line * plan.count + tile) * pieces + piece, leave)
                    moves.append(Move(tile * plan.words + word, port, *to))
        return tuple(moves)


class RetileJoin(Datapath):
    """``result`` is the last tiles, which are there as a whole, so it is right after so many.

    A tile is lines of pieces; line i of the result has the pieces i of all tiles, oldest lowest.
    """

    plan: JoinPlan

    def elaborate(self, platform: Any) -> Module:
        m, plan = Module(), self.plan
        bits = plan.bits_of_a_tile
        tiles = [Signal(bits, name=f"tile_{at}", reset_less=True) for at in range(plan.count)]
        with m.If(self.start):
            m.d.sync += [to.eq(source) for to, source in zip(tiles, [*tiles[1:], self.operand0], strict=True)]
        lines = [tile.word_select(line, plan.width) for line in range(plan.lines) for tile in tiles]
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


def _join(plan: JoinPlan) -> Datapath:
    """A store that joins tiles as they come."""
    if plan.packs:
        return PackedRows(plan)
    if plan.in_rows:
        return RetileStore(plan)
    return RetileColumns(plan) if plan.in_columns else RetileJoin(plan)


datapath = made_by({RetileCol: _join, RetileRow: _join, RetileStreamify: lambda plan: RetileSlicer(plan, plan.pieces)})
