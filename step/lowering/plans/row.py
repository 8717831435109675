"""Plan of functions that make one scalar of every row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from step.errors import FabricError
from step.functions.row import RowSum
from step.language.function import Function
from step.lowering.plans.fused import fused_cycles
from step.lowering.plans.parts import Circuit, Part, Parts, Store, computation
from step.lowering.plans.plan import Application, TilePlan, Timing
from step.lowering.plans.rows import largest, parts
from step.lowering.plans.vector import rounding
from step.lowering.plans.words import Schedule


def plan(function: Function, application: Application) -> RowPlan:
    """On at most `vector_lanes` scalars a cycle; a sum of floating point numbers takes `FabricConfig.stages` cycles,
    all else one."""
    fabric = application.fabric
    tile, result = application.words(0), application.words(-1)
    sums = isinstance(function, RowSum) and tile.dtype.is_float
    terms = function.terms if isinstance(function, RowSum) else None
    together = min(terms or 1, 1 << levels_of(tile.cols))
    most = max(fabric.vector_lanes, min(together, tile.cols)) if terms else fabric.vector_lanes
    words = max(tile.words, result.words)

    def fits(shape: Arrangement) -> bool:
        """Whether all terms of a fused sum are in one group; and groups of rows, where there may be fewer of these,
        parts of words, of the operand and of the result."""
        if shape.across < together or not application.dynamic:
            return shape.across >= together
        scalars, results = (each.link_bits // each.dtype.bits for each in (tile, result))
        return shape.in_order and scalars % shape.lanes == 0 and results % shape.down == 0

    shapes = [each for each in arrangements(tile.rows, tile.cols, most) if fits(each)]
    if not shapes:
        raise FabricError(
            f"fused sums of {terms} {tile.dtype} in rows of {tile.cols}, of which a run tells the number, need words "
            f"that are made of whole sums, but link_bytes is {fabric.link_bytes}; choose another one, or an ordered sum"
        )
    return RowPlan(
        function,
        tile,
        result,
        min(shapes, key=lambda each: (max(each.groups, words), each.lanes)),
        fabric.stages,
        fabric.stages if sums else 1,
        rounding(application) if sums else 0,
        together,
        most_rows=tile.rows if application.dynamic else 0,
    )


@dataclass(frozen=True)
class Arrangement:
    """Groups of the scalars of ``rows`` x ``cols``, of which one is folded in a cycle.

    A group is a *part* of a row, of ``across`` scalars, a power of two; or ``down`` whole rows.
    """

    rows: int
    cols: int
    down: int
    across: int

    @property
    def parts(self) -> int:
        """Groups that a row is cut into."""
        return -(-self.cols // self.across)

    @property
    def groups(self) -> int:
        return -(-self.rows // self.down) * self.parts

    @property
    def lanes(self) -> int:
        return self.down * min(self.across, self.cols)

    def place(self, group: int, slot: int) -> int:
        """The scalar in ``slot`` of a group."""
        row, col = divmod(slot, min(self.across, self.cols))
        return (group // self.parts * self.down + row) * self.cols + group % self.parts * self.across + col

    @property
    def in_order(self) -> bool:
        """Groups follow each other without anything between or beyond them, unless behind the last one."""
        return self.parts == 1 or self.cols % self.across == 0

    def ends(self, group: int) -> tuple[int, int]:
        """First and last scalar of a group."""
        row, part = group // self.parts * self.down, group % self.parts
        last = min(self.rows, row + self.down) - 1
        return self.place(group, 0), last * self.cols + min(self.cols, (part + 1) * self.across) - 1


def arrangements(rows: int, cols: int, lanes: int) -> list[Arrangement]:
    """All that there are on at most ``lanes`` lanes."""
    whole = 1 << levels_of(cols)
    split = [Arrangement(rows, cols, 1, 1 << bits) for bits in range(whole.bit_length())]
    joined = [Arrangement(rows, cols, down, whole) for down in range(2, rows + 1)]
    return [each for each in (*split, *joined) if each.lanes <= lanes]


def levels_of(cols: int) -> int:
    """Levels of the tree over a row; one at least, as a scalar alone is flushed too."""
    return max(1, (cols - 1).bit_length())


@dataclass(frozen=True)
class RowPlan(TilePlan):
    """A group of scalars is folded in a cycle, in levels of ``join`` cycles each.

    Groups that are no words wait until their last word is there; results wait until the words that they become can
    leave without a gap. Before that they are rounded, in ``rounds`` cycles. Of a fused sum, so many ``terms`` are
    folded at once, and groups have as many at least.

    Where tiles may have fewer rows, words are made of whole groups, and words of the result of the rows of whole
    groups, so that those of any number of rows come without a gap.
    """

    arrangement: Arrangement
    stages: int
    join: int
    rounds: int
    terms: int = 1

    lanes = property(lambda self: self.arrangement.lanes)

    @property
    def levels(self) -> int:
        return levels_of(self.tile.cols)

    @property
    def parts(self) -> Iterable[Part]:
        """The joins of a tree, those behind it in time, and stores on either side."""
        shape, source = self.arrangement, self.tile.dtype
        later = self.levels - (shape.across - 1).bit_length()
        amounts = {"dynamic": self.most_rows > 0, "later_bits": later * source.bits}
        yield Circuit("row", amounts=amounts | {"result_bits": self.result.bits * self.result_store.copies})
        if self.terms > 1:
            yield Circuit(computation("fused_terms", source), shape.down * shape.across)
            yield Circuit(computation("fused_sums", source), shape.down * shape.across // self.terms)
        joins = shape.down * (shape.across // self.terms - 1) + later
        if isinstance(self.function, RowSum):
            yield Circuit(computation("add", source), joins)
            yield Circuit(computation("round", self.result.dtype), shape.down * self.rounds)
        else:  # of scalars without zeros of two signs the order is that of integers
            yield Circuit(f"max.INT{source.bits}", joins)
            yield Circuit(computation("flush", source), shape.lanes * source.is_float)
        if self.store is not None:
            yield self.store

    def at(self, rows: Any) -> Timing:
        groups, words = self.groups_of(rows), self.result.words_at(rows)
        waiting = 1 + groups - words if self.most_rows else self.leaving.lag
        fixed = () if self.most_rows else (self.tile.words, self.result.words)
        latency = self.gathering + self.folding(self.levels) + self.rounds + waiting
        return Timing(largest(1, groups, *fixed), latency, streams=True)

    @property
    def takes_rows(self) -> bool:  # type: ignore[override]
        """No scalar is several words of some port; else groups are no parts of words."""
        return all(each.link_bits >= each.dtype.bits for each in (self.tile, self.result))

    def groups_of(self, rows: Any) -> Any:
        """Groups of a tile with so many ``rows``."""
        return parts(rows, 1, self.arrangement.down) * self.arrangement.parts

    def folding(self, levels: int) -> int:
        """Cycles from a group to what so many levels of the tree make of it."""
        if self.terms == 1:
            return levels * self.join
        return fused_cycles(self.stages) + (levels - (self.terms - 1).bit_length()) * self.join

    @cached_property
    def gathering(self) -> int:
        """Cycles from the first word of the operand to the first group."""
        return 0 if self.direct else self._uses.lag

    @property
    def direct(self) -> bool:
        """The words that come are the groups."""
        shape, tile = self.arrangement, self.tile
        return tile.words == shape.groups and shape.in_order and shape.lanes * tile.dtype.bits == tile.word_bits

    @property
    def store(self) -> Store | None:
        """The store in which words of the operand wait for groups; None where they are these."""
        shape, tile = self.arrangement, self.tile
        narrow, wide = sorted((shape.lanes * tile.dtype.bits, tile.word_bits))
        fit = tile.words == 1 or shape.groups == 1 or (wide % narrow == 0 and (wide // narrow).bit_count() == 1)
        if self.direct:
            return None
        copies = 1 if self.most_rows else self._uses.copies(self.gathering, self.initiation_interval)
        groups = Parts(shape.groups, shape.lanes * tile.dtype.bits)
        return Store(tile.parts, groups, copies, not (shape.in_order and fit))

    @property
    def result_store(self) -> Store:
        """The store in which results of the rows of a group wait for words."""
        down = self.arrangement.down
        groups = Parts(-(-self.tile.rows // down), down * self.result.dtype.bits)
        copies = 1 if self.most_rows else self.leaving.copies(self.leaving.lag, self.initiation_interval)
        return Store(groups, self.result.parts, copies, not self.most_rows)

    @cached_property
    def _uses(self) -> Schedule:
        """The words that each group needs."""
        return Schedule(
            tuple(self.tile.words_of(*self.arrangement.ends(each)) for each in range(self.arrangement.groups))
        )

    @cached_property
    def leaving(self) -> Schedule:
        """When, in groups, what each word of the result needs is there."""
        shape, bits, link = self.arrangement, self.result.dtype.bits, self.result.link_bits

        def ready(row: int) -> int:
            return (row // shape.down + 1) * shape.parts - 1

        ends = ((at * link // bits, min((at + 1) * link, self.result.bits) - 1) for at in range(self.result.words))
        return Schedule(tuple((ready(first), ready(last // bits)) for first, last in ends))
