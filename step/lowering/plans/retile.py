"""Plans of functions that join tiles or split them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any

from step.functions.retile import RetileRow, RetileStreamify
from step.language.function import Function
from step.lowering.plans.parts import Circuit, Memory, Part, Parts, Store
from step.lowering.plans.plan import Application, DatapathPlan, Timing
from step.lowering.plans.rows import largest, parts

PARTS = 4
"""Columns narrower than this part of a link wait in registers: memories of so few places take as much."""


def plan(function: Function, application: Application) -> DatapathPlan:
    """Plans of joining tiles, and of splitting them."""
    tile, result, link = application.words(0), application.words(-1), 8 * application.fabric.link_bytes
    control = application.is_control(0), application.is_control(-1)
    if isinstance(function, RetileStreamify):
        lines = 1 if function.axis == "row" else tile.rows
        there, slides = (application.dynamic and function.axis == axis for axis in ("col", "row"))
        return SplitPlan(tile.bits, lines, result.bits // lines, link, *control, there, slides)
    rows = isinstance(function, RetileRow)
    lines = 1 if rows else tile.rows
    row = tile.bits // tile.rows if 0 in application.fewer else 0
    count, dynamic = -(-result.bits // tile.bits), rows and application.dynamic
    return JoinPlan(count, lines, tile.bits // lines, link, result.bits, row, dynamic, control[0])


def _fit(width: int, link_bits: int) -> bool:
    """Lines are whole words, or words whole lines."""
    return max(link_bits, width) % min(link_bits, width) == 0


def _turn(item: int, enter: int, leave: int, bits: int) -> Memory:
    """A memory for two elements of so many ``bits``, of which ``enter`` and ``leave`` are those of words, in items."""
    banks = enter // item * (leave // item)
    places = -(-bits // item // banks)
    return Memory(item, 2 << (places - 1).bit_length(), banks, leave // item)


@dataclass(frozen=True)
class JoinPlan(DatapathPlan):
    """``count`` tiles become one; of ``lines`` lines of ``width`` bits each has one piece of every tile.

    One behind the other, whole words, or whole parts of a word, are taken as they come; the result leaves one cycle
    behind the last tile's first word. So it is with columns, of whole words or of a part of one that is large enough.
    Other tiles have to be there as a whole.

    Where only a run tells how many tiles there are, or their rows, of ``row`` bits (0: they are static), ``count`` and
    ``lines`` are the most. Then tiles one behind the other may end anywhere in a word, if ``dynamic``; the result has
    ``bits`` at most, which the last of them need not fill. Tiles that are ``control`` come in one piece, however narrow
    the link is.
    """

    count: int
    lines: int
    width: int
    link_bits: int
    bits: int
    row: int = 0
    dynamic: bool = False
    control: bool = False

    reduce = True

    most_rows = property(lambda self: self.bits_of_a_tile // self.row if self.row else 0)

    rows = most_rows

    operand_bits = property(lambda self: (self.store.written.bits,))

    result_bits = property(lambda self: min(self.bits, self.store.read.bits))  # the store is whole tiles

    @property
    def bits_of_a_tile(self) -> int:
        """Bits of a tile, or of the largest one."""
        return self.lines * self.width

    @property
    def words(self) -> int:
        """Words of a tile; one that has to be there as a whole is one."""
        return self.store.written.count // self.count

    @cached_property
    def store(self) -> Store:
        """The store in which words of all tiles become words of the result."""
        tile, whole = self.bits_of_a_tile, self.bits if self.kind == "packed" else self.count * self.bits_of_a_tile
        at_once = self.kind == "registers"
        came = tile if at_once or self.control else min(self.link_bits, tile)
        left = whole if at_once or (self.control and self.count == 1) else min(self.link_bits, whole)
        return Store(Parts(self.count * -(-tile // came), came), Parts(-(-whole // left), left))

    @cached_property
    def kind(self) -> str:
        """Store of waiting tiles: ``rows``, a memory where they follow each other, ``packed`` bit by bit, ``columns``,
        lines that leave a memory in another order than they came, or in ``registers``."""
        if self.row and not self.dynamic:
            return "columns"
        fits = _fit(self.width, self.link_bits)
        if not self.row and self.lines == 1 and (fits or self.count * self.width <= self.link_bits):
            return "rows"
        if self.dynamic:
            return "rows" if self.row and self.row % self.link_bits == 0 else "packed"
        return "columns" if self.lines > 1 and fits and self.link_bits <= PARTS * self.width else "registers"

    streams = takes_rows = property(lambda self: self.kind != "registers")

    widest = property(lambda self: self.bits if self.kind == "registers" else 0)

    @property
    def parts(self) -> Iterable[Part]:
        """The memory in which tiles wait, and what is around it, or registers."""
        written, read = self.store.written, self.store.read
        yield Circuit(f"join.{self.kind}", amounts={"bits": self.bits, "word_bits": min(self.link_bits, self.bits)})
        if self.kind == "packed":
            yield Memory(read.bits, read.count)
        elif self.kind == "rows":
            yield self.store
        elif self.kind == "columns":
            yield _turn(gcd(self.width, self.link_bits), written.bits, read.bits, self.bits)

    def at(self, rows: Any) -> Timing:
        still = -(-self.bits_of_a_tile // self.link_bits) if self.streams else 1
        words = largest(1, parts(rows, self.row, self.link_bits)) if self.row else still
        return Timing(words, 1, self.streams)


@dataclass(frozen=True)
class SplitPlan(DatapathPlan):
    """A tile of ``bits`` becomes pieces, each of ``lines`` lines of ``width`` bits, a piece at a time.

    Pieces are read where they lie if that is a row of words, or of pieces in a word. Else the whole tile has to be
    there first. ``control``: the tile is; ``makes_control``: the piece is, and its header waits for the tile.
    ``there``: the tile has come before the first piece, as columns of a tile of dynamic size want it. Rows of such a
    tile may begin anywhere in a word where they are ``sliding``: each word is read once, while the one before is kept.
    Those that are control have whole words or lie in one, and leave when they are read.
    """

    bits: int
    lines: int
    width: int
    link_bits: int
    control: bool
    makes_control: bool
    there: bool = False
    sliding: bool = False

    streams = False

    operand_bits = property(lambda self: (self.bits,))

    result_bits = property(lambda self: self.lines * self.width)

    takes_rows = property(lambda self: self.kind not in ("turned", "registers"))

    widest = property(lambda self: self.bits if self.kind == "registers" else 0)

    def at(self, rows: Any) -> Timing:
        words = largest(1, parts(rows, self.width, self.link_bits))
        return Timing(words if self.there else self.initiation_interval, self.latency)

    @cached_property
    def initiation_interval(self) -> int:
        return 1 if self.control else -(-self.result_bits // self.link_bits)

    @cached_property
    def latency(self) -> int:
        if self.collects_control:
            return self.initiation_interval if self.sliding else self._words + 1
        return 0 if self.takes_rows else self._words

    @cached_property
    def kind(self) -> str:
        """Place of pieces when read: ``whole`` words where they lie, ``within`` one, ``sliding`` out of two that follow
        each other, ``there`` in a memory for any rows; or when all came, ``turned`` in a memory that they leave in
        another order than their scalars came, or out of ``registers``."""
        if self.there:
            return "there"
        if self.lines == 1 and self.result_bits % min(self.link_bits, self.bits) == 0:
            return "whole"
        if self._words == 1 or (self.lines == 1 and self.link_bits % self.result_bits == 0):
            return "within"
        if self.sliding:
            return "sliding"
        return "turned" if _fit(self.width, self.link_bits) and self.link_bits <= PARTS * self.width else "registers"

    @property
    def parts(self) -> Iterable[Part]:
        """Parts that choose among bits of the tile, of a word or of several, and the memory that pieces leave."""
        word, piece = min(self.bits, self.link_bits), min(self.link_bits, self.result_bits)
        chosen = {"there": self.bits, "registers": self.bits, "turned": 0}.get(self.kind, word)
        collected = self.result_bits * self.collects_control
        amounts = {"bits": chosen, "word_bits": piece, "collected_bits": collected}
        yield Circuit(f"split.{self.kind}", amounts=amounts)
        if self.kind == "turned":
            yield _turn(gcd(self.width, self.link_bits), word, piece, self.bits)

    @property
    def collects_control(self) -> bool:
        """Whether data that comes as words leaves in headers."""
        return self.makes_control and not self.control

    @property
    def pieces(self) -> int:
        return self.bits // self.result_bits

    @property
    def _words(self) -> int:
        """Words of the tile."""
        return 1 if self.control else -(-self.bits // self.link_bits)
