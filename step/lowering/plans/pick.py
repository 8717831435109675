"""Plans of functions that give scalars other columns: words come, scalars go where they belong, words leave."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any

from step.functions.pick import Column
from step.language.function import Function
from step.lowering.plans.plan import Application, TilePlan, Timing
from step.lowering.plans.rows import largest, parts
from step.lowering.plans.words import Words


def plan(function: Function, application: Application) -> ColumnPlan | RotatePlan:
    """The plan of a column, or of halves that change places."""
    tile, result = application.words(0), application.words(-1)
    if isinstance(function, Column):
        return ColumnPlan(tile, result, application.dynamic)
    return RotatePlan(tile, application.dynamic)


@dataclass(frozen=True)
class ColumnPlan:
    """The words of the ``result`` leave so that the last one follows the last word of the ``tile``."""

    tile: Words
    result: Words
    dynamic: bool = False

    streams = True

    @property
    def initiation_interval(self) -> int:
        return self.tile.beats

    @property
    def latency(self) -> int:
        return 1 + self.tile.beats - self.result.beats

    def at(self, rows: Any) -> Timing:
        """The cycles with so many ``rows``."""
        came, leave = (parts(rows, each.cols * each.dtype.bits, each.link_bits) for each in (self.tile, self.result))
        return Timing(largest(1, came), 1 + came - leave, streams=True)


@dataclass(frozen=True)
class RotatePlan(TilePlan):
    """Words leave as many as come, in windows of whole rows, out of registers that hold one window or two."""

    @property
    def window(self) -> int:
        """The words of the fewest rows that are whole words, or of all rows."""
        row = self.tile.cols * self.tile.dtype.bits
        return min(self.tile.beats, row // gcd(row, self.tile.link_bits))

    @property
    def latency(self) -> int:
        return 1 + max(max(came) - leaves for leaves, came in enumerate(self.sources))

    @property
    def width(self) -> int:
        """Bits of a scalar, or of what a word has of one."""
        return min(self.tile.dtype.bits, self.tile.link_bits)

    @property
    def sources(self) -> tuple[tuple[int, ...], ...]:
        """For each word of a window the words that the parts of scalars, of `width` bits, come from."""
        slots = self.tile.word_bits // self.width
        return tuple(
            tuple(self.place(word * slots + slot) // slots for slot in range(slots)) for word in range(self.window)
        )

    def place(self, part: int) -> int:
        """The part of a scalar of the tile that is ``part`` of the result."""
        row = self.tile.cols * self.tile.dtype.bits // self.width
        return part // row * row + (part + row // 2) % row
