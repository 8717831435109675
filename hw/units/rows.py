"""The rows of tiles whose number only a run tells, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amaranth.hdl import Cat, Module, Signal, Value

from hw.firing.machine import Firing
from hw.firing.pair import UnitPair
from hw.firing.unit import Unit
from hw.rules.unit import Translated
from hw.units.pieces import Pieces, send_pieces
from step.firing.declared import Declared
from step.lowering.links import INSIDE
from step.rules.flatten import HoldingFlatten


@dataclass(frozen=True)
class Rows(Pieces):
    """A row per firing. ``nested``: those of a tile are a row of the stream, without any an empty one.

    Else the stream has rank 0, in which a tile without rows is nothing.
    """

    nested: bool

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        index = Signal(range(self.slicer.pieces))
        some = Signal()
        last = Signal()
        m.d.comb += [some.eq(token.value & (token.rows != 0)), last.eq(~some | (index == token.rows - 1))]
        firing.occupy(when=some)
        if self.piece.items and self.slicer.plan.collects_control:
            firing.complete(0, control=self.read(m, firing, index))
        elif self.piece.word_bits:
            self.cut(m, firing, index, some)
        when = 1 if self.nested else some | token.done
        send_pieces(m, firing, index, some, last, raised=int(self.nested), when=when)

    def read(self, m: Module, firing: Firing, index: Signal) -> Value:
        """Row ``index``, which is control, `latency` cycles later: a part of a word, or several words."""
        word, words = firing.word(0), self.latency
        if self.slicer.plan.kind == "whole":
            if self.token.words > 1:
                firing.read_from(0, index * words)
            before = Signal((words - 1) * len(word), reset_less=True)
            row = Cat(before, word)
            m.d.sync += before.eq(row[len(word) :])
            return row
        return self.within(m, firing, index, firing.delayed)


class HeldRows(UnitPair):
    """`Rows` of all tiles of a row of the stream are one row: as the last tile may have none, the last row waits."""

    def __init__(self, rows: Rows) -> None:
        between = replace(rows.piece, rank=rows.piece.rank + 1)
        stops = (0, 0, *range(1, rows.piece.rank + 1))
        flatten = Declared(HoldingFlatten, {"low": 0, "high": 1, "stops": stops})
        then = Unit(Translated.of(flatten, (between,), (rows.piece,)))
        first = Unit(replace(rows, piece=between, nested=True))
        super().__init__(first, then, INSIDE + first.in_flight)
