"""Datapath of functions that make one scalar of every row: a tree, above which what comes later is joined in time."""

from __future__ import annotations

from functools import partial

from amaranth.hdl import C, Cat, Module, Mux, Value

from hw.functions.datapath import HARDWARE, Datapath
from hw.functions.fold import FloatSum, Fold, FusedSum, IntegerSum, Largest, LargestColumn
from hw.functions.store import Groups, regrouped
from hw.primitives.timing import (
    counter,
    delayed,
    held,
    named,
    registered,
    window_from_start,
    word_window,
)
from hw.verilog.spelling import Spelling, function_words, tile_words
from step.functions.row import ArgMax, RowMax, RowSum
from step.lowering.plans.row import RowPlan


class RowDatapath(Datapath):
    """``result`` = the scalars of every row of ``operand0`` in one, by ``fold``.

    Groups that are no words of the operand wait in a store. The scalars of a group meet in a tree. Where a row has
    several groups, what becomes of two of them meets behind it: the first one is held until the second comes. So
    the order of all is that of one tree over a row, and no cycle is lost.
    """

    plan: RowPlan

    def __init__(self, fold: type[Fold], plan: RowPlan) -> None:
        super().__init__(plan)
        self.fold = fold(plan)
        self.tile, self.shape, self.arrangement = plan.tile, plan.result, plan.arrangement

    @property
    def stem(self) -> str:
        return type(self.plan.function).__name__

    @property
    def spelling(self) -> Spelling:
        rows, words = "dynamic" if self.plan.most_rows else "", function_words(self.plan.function)[1:]
        return Spelling.some(*words, *tile_words(self.tile), rows, f"lanes{self.arrangement.lanes}")

    def value(self, m: Module) -> Value:
        scalars, arrives, ends, last_part = self._groups(m)
        shape, plan = self.arrangement, self.plan
        within = (shape.across - 1).bit_length()
        rows = [self._tree(m, row, scalars[row], last_part) for row in range(shape.down)]
        arrives = delayed(m, arrives, plan.folding(within), "tree")
        parts = shape.parts
        for level in range(within, plan.levels):
            ((rows[0], arrives), parts) = self._in_time(m, level, rows[0], arrives, parts), -(-parts // 2)
        results = Cat(self.fold.leave(m, f"leave_{row}", each) for row, each in enumerate(rows))
        arrives = delayed(m, arrives, plan.rounds, "rounded")
        return self._leave(m, results, arrives, ends)

    def _groups(self, m: Module) -> tuple[list[list[Value]], Value, Value, Value]:
        """The scalars of each row of the group that is there, entered, whether one is, if it is a tile's last, and if a
        row's."""
        shape, fold, plan = self.arrangement, self.fold, self.plan
        number, (comes,) = word_window(m, self.start, [self.tile.words])
        group, found = Groups(self.start, comes, C(0, 1), C(0, 1)), self.operand0
        if plan.direct and plan.most_rows:
            arrives, last = window_from_start(m, self.start, plan.groups_of(self.rows), shape.groups)
            group = group._replace(valid=arrives, last=last)
        elif plan.store is not None:
            group = self.gathered(m, number, shape.groups)
            found = regrouped(m, "operand", plan.store, self._picked, (comes, number, found), group)
        found = named(m, found, "scalars")
        part, last_part = counter(m, shape.parts, "part", group.valid)
        width = min(shape.across, shape.cols)
        rows: list[list[Value]] = []
        for row in range(shape.down):
            rows.append([])
            for col in range(shape.across):
                if col >= width:
                    rows[-1].append(C(fold.identity, fold.bits))
                    continue
                column = Cat(C(col, (shape.across - 1).bit_length()), part)
                scalar = found.word_select(row * width + col, self.tile.dtype.bits)
                scalar = fold.enter(m, f"enter_{row}_{col}", scalar, column)
                rows[-1].append(self._unless_beyond(col, last_part, scalar))
        return rows, group.valid, group.last, last_part

    def _unless_beyond(self, col: int, last_part: Value, scalar: Value) -> Value:
        """``scalar``, of column ``col`` of a group, or what changes none where the last group of a row has no such."""
        beyond = (self.arrangement.parts - 1) * self.arrangement.across + col >= self.arrangement.cols
        return Mux(last_part, C(self.fold.identity, self.fold.bits), scalar) if beyond else scalar

    def _picked(self, element: Value) -> list[Value]:
        """The groups of a whole tile."""
        shape, bits, last = self.arrangement, self.tile.dtype.bits, self.tile.scalars - 1
        places = [[min(shape.place(at, slot), last) for slot in range(shape.lanes)] for at in range(shape.groups)]
        return [Cat(element.word_select(at, bits) for at in each) for each in places]

    def _tree(self, m: Module, row: int, scalars: list[Value], last_part: Value) -> Value:
        """The scalars of a group's row in one, a register in front of every level."""
        if self.plan.terms > 1:
            scalars = self._gathered(m, row, scalars, last_part)
        level = 0
        while len(scalars) > 1:
            pairs = zip(scalars[::2], scalars[1::2], strict=True)
            scalars = [self._join(m, f"join_{row}_{level}_{at}", *pair) for at, pair in enumerate(pairs)]
            level += 1
        return scalars[0]

    def _gathered(self, m: Module, row: int, scalars: list[Value], last_part: Value) -> list[Value]:
        """One scalar for all that become one at once; behind the last ones of a row what changes no sum."""
        terms = self.plan.terms
        before = [registered(m, each, f"term_{row}_{at}") for at, each in enumerate(scalars)]
        last_part = delayed(m, last_part, self.plan.folding((terms - 1).bit_length()), f"last_part_{row}")
        places = range(0, self.arrangement.across, terms)
        found = [self.fold.gather(m, f"gather_{row}_{at}", before[at : at + terms]) for at in places]
        return [self._unless_beyond(at, last_part, each) for at, each in zip(places, found, strict=True)]

    def _join(self, m: Module, name: str, first: Value, second: Value) -> Value:
        registers = (registered(m, each, f"{name}_operand") for each in (first, second))
        return named(m, self.fold.join(m, name, *registers), f"{name}_joined")

    def _in_time(self, m: Module, level: int, scalar: Value, arrives: Value, parts: int) -> tuple[Value, Value]:
        """Join ``parts`` scalars of a row, one after the other, each pair in one; the last one may be alone."""
        part, last = counter(m, parts, f"part_{level}", arrives)
        second = part[0]
        first = held(m, scalar, arrives, f"held_{level}")
        alone = C(self.fold.identity, self.fold.bits)
        joined = self._join(m, f"later_{level}", Mux(second, first, scalar), Mux(second, scalar, alone))
        return joined, delayed(m, arrives & (second | last), self.plan.join, f"later_{level}")

    def _leave(self, m: Module, results: Value, arrives: Value, ends: Value) -> Value:
        """Let the ``results`` of so many rows as come at once leave as words; a tile's last group, as it came, ``ends``
        it."""
        plan, part = self.plan, self.plan.result_store
        cycles = plan.folding(plan.levels) + plan.rounds
        group, ends = self.result_group(m, part.written.count, arrives, ends, cycles)
        word, last = self.leaving(m, part.read.count)
        padding = C(0, part.read.count * self.shape.link_bits)

        def words(element: Value) -> list[Value]:
            padded = Cat(element[: self.shape.bits], padding)
            return [padded[at * self.shape.link_bits :][: part.read.bits] for at in range(part.read.count)]

        into = arrives, group, results
        return regrouped(m, "result", part, words, into, Groups(ends, last, word, last))


def _sum(plan: RowPlan) -> RowDatapath:
    """The sum of a row, of floating point numbers or of integers."""
    floats = FusedSum if plan.terms > 1 else FloatSum
    return RowDatapath(floats if plan.tile.dtype.is_float else IntegerSum, plan)


HARDWARE |= {RowSum: _sum, RowMax: partial(RowDatapath, Largest), ArgMax: partial(RowDatapath, LargestColumn)}
