"""Datapath of functions that replace rows or columns of a tile: words go through, and are changed on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value, signed

from hw.functions.datapath import Datapath
from hw.links.packing import pack_element
from hw.primitives.timing import held, named, registered, word_window
from hw.verilog.spelling import Spelling, tile_words
from step.functions.edit import AppendRow, CausalMask, FilterLastTile, SetRow, padding
from step.language.function import Function
from step.language.types import Tile
from step.lowering.plans.edit import EditPlan

KINDS: dict[type[Function], str] = {SetRow: "set", AppendRow: "append", FilterLastTile: "filter", CausalMask: "causal"}
"""What is done to a tile, in a word."""


class EditDatapath(Datapath, of=(SetRow, AppendRow, FilterLastTile, CausalMask)):
    """``result`` = ``operand0`` with some lines (rows, or columns) replaced: by ``operand2``, or by ``pad``.

    ``operand1`` is control, and says which ones: ``set`` replaces the line with that number by the row, ``append`` the
    line with its lowest bits, and pads those behind it; ``filter`` pads the lines from that number on. ``causal`` pads
    what is in a column that, counted from ``operand2`` on, is above the row, counted from ``operand1`` on.

    A word of the row is never wanted before it comes: that of line 0 comes at the same time.
    """

    plan: EditPlan

    def __init__(self, plan: EditPlan) -> None:
        super().__init__(plan)
        self.edit, self.tile, self.row = KINDS[type(plan.function)], plan.tile, plan.row
        function: Any = plan.function
        axis = getattr(function, "axis", "col" if self.edit == "causal" else "row")
        self.by_rows, dtype = axis == "row", self.tile.dtype
        self.pad = pack_element(padding(function, dtype, getattr(function, "pad", 0)), Tile(dtype))

    @property
    def spelling(self) -> Spelling:
        return Spelling.some(self.edit, *tile_words(self.tile), "rows" if self.by_rows else "columns")

    def value(self, m: Module) -> Value:
        number, _ = word_window(m, self.start, [self.tile.words])
        lines = self.tile.rows if self.by_rows else self.tile.cols
        which = self.operand1
        if self.edit == "append":
            which = which[: lines.bit_length() - 1]
        never = C(0, 1)  # behind the last scalar
        replaced = [*named(m, Cat(which == line for line in range(lines)), "replaced"), never]
        most = (1 << len(which)) - 1
        padded = [*named(m, Cat(which <= line if line < most else C(1, 1) for line in range(lines)), "padded"), never]
        new = None if self.edit == "causal" else self._row(m, number)
        distance = self._distance(m) if self.edit == "causal" else None
        width = min(self.tile.dtype.bits, self.tile.word_bits)  # of a scalar, or of what a word has of one
        pieces, of_a_word = self.tile.dtype.bits // width, self.tile.word_bits // width
        count = self.tile.rows * self.tile.cols
        blank = [C(self.pad >> piece * width & (1 << width) - 1, width) for piece in range(pieces)]

        result: list[Value] = []
        for slot in range(of_a_word):
            scalars = [divmod(word * of_a_word + slot, pieces) for word in range(self.tile.words)]
            places = [(*divmod(scalar, self.tile.cols), piece) for scalar, piece in scalars]
            line = [row if self.by_rows else col for row, col, _ in places]
            line = [at if scalar < count else lines for at, (scalar, _) in zip(line, scalars, strict=True)]
            value: Value = self.operand0.word_select(slot, width)
            pads = _chosen(padded, line, number)
            if distance is not None:
                above = [C(col - row, distance.shape()) for row, col, _ in places]
                pads = _chosen(above, range(len(above)), number) > distance
            if self.edit != "set":
                value = Mux(pads, _chosen(blank, [piece for *_, piece in places], number), value)
            if new is not None:
                items = [new.word_select(at, width) for at in range(self.tile.cols * pieces)]
                item = _chosen(items, [col * pieces + piece for _, col, piece in places], number)
                value = Mux(_chosen(replaced, line, number), item, value)
            result.append(value)
        return registered(m, Cat(result), "word")

    def _distance(self, m: Module) -> Value:
        """Distance of the first row above the first column; where that is farther than the tile goes, not how far."""
        rows, cols = self.tile.rows, self.tile.cols
        distance = Signal(signed(33))
        near = Signal(range(-rows, cols + 1))
        m.d.comb += distance.eq(self.operand1 - self.operand2)
        m.d.comb += near.eq(Mux(distance < -rows, -rows, Mux(distance > cols, cols, distance)))
        return near

    def _row(self, m: Module, number: Value) -> Value | None:
        """The part of the row that has come."""
        if self.row is None:
            return None
        kept = [held(m, self.operand2, number == at, f"row_{at}") for at in range(self.row.words)]
        words = (Mux(number == at, self.operand2, each) for at, each in enumerate(kept))
        return named(m, Cat(words), "row")


def _chosen(values: Sequence[Value], which: Sequence[int], number: Value) -> Value:
    """The one of ``values`` that word ``number`` wants."""
    return values[which[0]] if len({*which}) == 1 else Array(values[each] for each in which)[number]
