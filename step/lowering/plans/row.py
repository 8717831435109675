"""Plan of functions that make one scalar of every row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from step.errors import FabricError
from step.functions.row import RowSum
from step.language.function import Function
from step.lowering.plans.fused import fused_cycles
from step.lowering.plans.plan import Application, Timing
from step.lowering.plans.rows import largest, parts
from step.lowering.plans.vector import rounding
from step.lowering.plans.words import Schedule, Words


def plan(function: Function, application: Application) -> RowPlan:
    """A sum of floating point numbers takes `FabricConfig.stages` cycles, all else one."""
    fabric = application.fabric
    tile, result = application.words(0), application.words(-1)
    sums = isinstance(function, RowSum) and tile.dtype.is_float
    join, rounds = fabric.stages if sums else 1, rounding(application) if sums else 0
    terms = function.terms if isinstance(function, RowSum) else None
    if terms is None:
        return RowPlan(tile, result, fabric.vector_lanes, join, rounds, application.dynamic)
    together = min(terms, 1 << levels_of(tile.cols))
    most = max(fabric.vector_lanes, min(together, tile.cols))
    made = RowPlan(tile, result, most, join, rounds, application.dynamic, together, fused_cycles(fabric.stages))
    if not any(map(made.fits, arrangements(tile.rows, tile.cols, most))):
        raise FabricError(
            f"fused sums of {terms} {tile.dtype} in rows of {tile.cols}, of which a run tells the number, need words "
            f"that are made of whole sums, but link_bytes is {fabric.link_bytes}; choose another one, or an ordered sum"
        )
    return made


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


def arrange(
    rows: int, cols: int, lanes: int, cycles: int, fits: Callable[[Arrangement], bool] = lambda shape: True
) -> Arrangement:
    """The arrangement that ``fits`` with the fewest groups on at most ``lanes`` lanes; as few of these as take no more
    ``cycles``."""
    possible = filter(fits, arrangements(rows, cols, lanes))
    return min(possible, key=lambda each: (max(each.groups, cycles), each.lanes))


def levels_of(cols: int) -> int:
    """Levels of the tree over a row; one at least, as a scalar alone is flushed too."""
    return max(1, (cols - 1).bit_length())


@dataclass(frozen=True)
class RowPlan:
    """A group of scalars is folded in a cycle, on at most ``most`` lanes, in levels of ``join`` cycles each.

    Groups that are no words wait until their last word is there; results wait until the words that they become can
    leave without a gap. Before that they are rounded, in ``rounds`` cycles.

    Of a fused sum, so many ``terms`` are folded at once, in ``fused`` cycles, and groups have as many at least.

    ``dynamic``: tiles may have fewer rows. Then words are made of whole groups, and words of the result of the rows of
    whole groups, so that those of any number of rows come without a gap.
    """

    tile: Words
    result: Words
    most: int
    join: int
    rounds: int
    dynamic: bool = False
    terms: int = 1
    fused: int = 0

    streams = True

    @cached_property
    def arrangement(self) -> Arrangement:
        return arrange(self.tile.rows, self.tile.cols, self.most, self._words, self.fits)

    @property
    def lanes(self) -> int:
        return self.arrangement.lanes

    @property
    def levels(self) -> int:
        return levels_of(self.tile.cols)

    @property
    def initiation_interval(self) -> int:
        return max(self._words, self.arrangement.groups)

    def at(self, rows: Any) -> Timing:
        """The cycles with so many ``rows``."""
        groups, words = self.groups_of(rows), parts(rows, self.result.dtype.bits, self.result.link_bits)
        latency = self.gathering + self.folding + self.rounds + 1 + groups - words
        return Timing(largest(1, groups), latency, streams=True)

    @property
    def narrow(self) -> bool:
        """A scalar is several words of some port; then groups are no parts of words."""
        return any(each.link_bits < each.dtype.bits for each in (self.tile, self.result))

    def groups_of(self, rows: Any) -> Any:
        """Groups of a tile with so many ``rows``."""
        return parts(rows, 1, self.arrangement.down) * self.arrangement.parts

    @property
    def folding(self) -> int:
        """Cycles from a group to the sum of its row, if that had no others."""
        return self.fused + (self.levels - (self.terms - 1).bit_length()) * self.join

    def fits(self, shape: Arrangement) -> bool:
        """Whether all terms of a fused sum are in one group; and groups of rows, where there may be fewer of these,
        parts of words, of the operand and of the result."""
        if shape.across < self.terms or not self.dynamic:
            return shape.across >= self.terms
        scalars, results = (each.link_bits // each.dtype.bits for each in (self.tile, self.result))
        return shape.in_order and scalars % shape.lanes == 0 and results % shape.down == 0

    @cached_property
    def latency(self) -> int:
        return self.gathering + self.folding + self.rounds + self.waiting

    @cached_property
    def gathering(self) -> int:
        """Cycles from the first word of the operand to the first group."""
        return 0 if self.direct else self.uses.lag

    @cached_property
    def waiting(self) -> int:
        """Cycles from what the first group would be, if it were a whole row, to the first word of the result."""
        return self.leaving.lag

    @property
    def direct(self) -> bool:
        """The words that come are the groups."""
        shape, tile = self.arrangement, self.tile
        return tile.beats == shape.groups and shape.in_order and shape.lanes * tile.dtype.bits == tile.word_bits

    @cached_property
    def uses(self) -> Schedule:
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

        ends = ((at * link // bits, min((at + 1) * link, self.result.bits) - 1) for at in range(self.result.beats))
        return Schedule(tuple((ready(first), ready(last // bits)) for first, last in ends))

    @property
    def _words(self) -> int:
        return max(self.tile.beats, self.result.beats)
