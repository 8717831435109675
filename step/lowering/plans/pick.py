"""Plans of functions that give scalars other columns: words come, scalars go where they belong, words leave."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import gcd
from typing import Any

from step.functions.pick import Column
from step.language.function import Function
from step.lowering.plans.parts import Part, Parts, Store
from step.lowering.plans.plan import Application, TilePlan, Timing


def plan(function: Function, application: Application) -> TilePlan:
    """The plan of a column, or of halves that change places."""
    kind = ColumnPlan if isinstance(function, Column) else RotatePlan
    tile = application.words(0)
    return kind(function, tile, application.words(-1), most_rows=tile.rows if application.dynamic else 0)


class ColumnPlan(TilePlan):
    """A column, in words that leave so that the last one follows the last word of the ``tile``."""


class RotatePlan(TilePlan):
    """Words leave as many as come, in windows of whole rows, out of registers that hold one window or two."""

    def at(self, rows: Any) -> Timing:
        return Timing(super().at(rows).initiation_interval, self._lag, streams=True)

    @property
    def parts(self) -> Iterable[Part]:
        """The windows, beside what tiles need."""
        return *super().parts, self.store

    @property
    def window(self) -> int:
        """The words of the fewest rows that are whole words, or of all rows."""
        row = self.tile.cols * self.tile.dtype.bits
        return min(self.tile.words, row // gcd(row, self.tile.link_bits))

    @property
    def store(self) -> Store:
        """The windows that lie in registers."""
        words = Parts(self.window, self.tile.word_bits)
        return Store(words, words, 1 if self.window == 1 else 2, picked=True)

    @property
    def width(self) -> int:
        """Bits of a scalar, or of what a word has of one."""
        return min(self.tile.dtype.bits, self.tile.link_bits)

    @property
    def slots(self) -> int:
        """Scalars of a word, or parts of them."""
        return self.tile.word_bits // self.width

    def place(self, part: int) -> int:
        """The part of a scalar of the tile that is ``part`` of the result."""
        row = self.tile.cols * self.tile.dtype.bits // self.width
        return part // row * row + (part + row // 2) % row

    @cached_property
    def _lag(self) -> int:
        """Cycles from a word to the one in its place, of which every part came before."""
        parts = range(self.window * self.slots)
        return 1 + max(self.place(part) // self.slots - part // self.slots for part in parts)
