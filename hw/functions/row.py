"""Datapath of functions that make one scalar of every row: a tree, above which what comes later is joined in time."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath, no_datapath
from hw.functions.fold import FloatSum, Fold, FusedSum, IntegerSum, Largest, LargestColumn
from hw.functions.store import Parts, Store, WordRegisters
from hw.primitives.delay import DelayLine
from hw.primitives.timing import (
    counter,
    delayed,
    named,
    registered,
    window,
    window_from_start,
    window_place,
    word_window,
)
from hw.verilog.modules import Shared
from hw.verilog.naming import Spelling, function_words, tile_words
from step.functions.row import ArgMax, RowMax, RowSum
from step.language.function import Function
from step.lowering.plans.plan import Application
from step.lowering.plans.row import RowPlan


def datapath(function: Function, application: Application, plan: RowPlan) -> Datapath:
    """The datapath for a tile, on at most `vector_lanes` scalars a cycle."""
    source, out = plan.tile.dtype, plan.result.dtype
    match function:
        case RowSum() if source.is_float and plan.terms > 1:
            fold: Fold = FusedSum(source, out, application.fabric.stages, plan.terms)
        case RowSum() if source.is_float:
            fold = FloatSum(source, out, application.fabric.stages)
        case RowSum():
            fold = IntegerSum(source, out)
        case RowMax():
            fold = Largest(source, out)
        case ArgMax():
            fold = LargestColumn(source, out, plan.tile.cols)
        case _:
            raise no_datapath(function)
    return RowDatapath(plan, fold)


class RowDatapath(Datapath):
    """``result`` = the scalars of every row of ``operand0`` in one, by ``fold``.

    Groups that are no words of the operand wait in a store. The scalars of a group meet in a tree. Where a row has
    several groups, what becomes of two of them meets behind it: the first one is held until the second comes. So
    the order of all is that of one tree over a row, and no cycle is lost.
    """

    plan: RowPlan

    def __init__(self, plan: RowPlan, fold: Fold) -> None:
        self.fold, self.tile, self.shape, self.arrangement = fold, plan.tile, plan.result, plan.arrangement
        folding = fold.cycles(plan.levels) + fold.rounds
        super().__init__(
            plan,
            [self.tile.word_bits],
            self.shape.word_bits,
            reduce=False,
            latency=plan.gathering + folding + plan.waiting,
            busy=self.arrangement.groups,
            most_rows=self.tile.rows if plan.dynamic else 0,
        )
        self.parameters = {
            "fold": self.fold,
            "tile": self.tile,
            "result": self.shape,
            "arrangement": self.arrangement,
            "dynamic": self.plan.dynamic,
        }

    @property
    def spelling(self) -> Spelling:
        rows = "dynamic" if self.plan.dynamic else ""
        return Spelling.some(*function_words(self.fold), *tile_words(self.tile), rows, f"lanes{self.arrangement.lanes}")

    @property
    def _group_bits(self) -> int:
        return self.arrangement.lanes * self.tile.dtype.bits

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        scalars, arrives, ends, last_part = self._groups(m)
        shape, fold = self.arrangement, self.fold
        rows = [self._tree(m, row, scalars[row], last_part) for row in range(shape.down)]
        arrives = delayed(m, arrives, fold.cycles((shape.across - 1).bit_length()), "tree")
        parts = shape.parts
        for level in range((shape.across - 1).bit_length(), self.plan.levels):
            ((rows[0], arrives), parts) = self._in_time(m, level, rows[0], arrives, parts), -(-parts // 2)
        results = Cat(fold.leave(m, f"leave_{row}", each) for row, each in enumerate(rows))
        arrives = delayed(m, arrives, fold.rounds, "rounded")
        if self.plan.dynamic:
            cycles = fold.cycles(self.plan.levels) + fold.rounds
            self._leave_known(m, results, arrives, delayed(m, ends, cycles, "ends"))
        else:
            self._leave(m, results, arrives)
        return m

    def _groups(self, m: Module) -> tuple[list[list[Value]], Value, Value, Value]:
        """The scalars of each row of the group that is there, entered, whether one is, if it is a tile's last, and if a
        row's."""
        shape, fold, bits = self.arrangement, self.fold, self.tile.dtype.bits
        number, (comes,) = word_window(m, self.start, [self.tile.beats])
        last: Value = C(0, 1)
        if self.plan.dynamic:
            arrives, last = window_from_start(m, self.start, self.plan.groups_of(self.rows), shape.groups)
            found = self.operand0
            if not self.plan.direct:
                group = window_place(m, "group", self.start, shape.groups)
                arrives, last = delayed(m, arrives, 1, "arrives"), delayed(m, last, 1, "last")
                group = delayed(m, group, 1, "group")
                found = self._kept(m, 1, comes, number, C(0, 1), group, C(0, 1))
        elif self.plan.direct:
            found, arrives = self.operand0, comes
        else:
            lag, copies = self.plan.gathering, self.plan.uses.copies(self.plan.gathering, self.initiation_interval)
            begins = self.start if lag == 1 else number == lag - 1
            arrives, group, last = window(m, "group", begins, shape.groups)
            into, _ = counter(m, copies, "written", comes & (number == self.tile.beats - 1))
            out, _ = counter(m, copies, "read", arrives & last)
            found = self._kept(m, copies, comes, number, into, group, out)
        found = named(m, found, "scalars")
        part, last_part = counter(m, shape.parts, "part", arrives)
        width = min(shape.across, shape.cols)
        rows: list[list[Value]] = []
        for row in range(shape.down):
            rows.append([])
            for col in range(shape.across):
                if col >= width:
                    rows[-1].append(C(fold.identity, fold.bits))
                    continue
                column = Cat(C(col, (shape.across - 1).bit_length()), part)
                scalar = fold.enter(m, f"enter_{row}_{col}", found.word_select(row * width + col, bits), column)
                beyond = (shape.parts - 1) * shape.across + col >= shape.cols  # of a row, in its last group
                rows[-1].append(Mux(last_part, C(fold.identity, fold.bits), scalar) if beyond else scalar)
        return rows, arrives, last, last_part

    def _kept(
        self, m: Module, copies: int, comes: Value, number: Value, into: Value, group: Value, out: Value
    ) -> Value:
        """The scalars of ``group``, out of the words that came."""
        shape, tile = self.arrangement, self.tile
        narrow, wide = sorted((self._group_bits, tile.word_bits))
        fit = wide % narrow == 0 and (wide // narrow).bit_count() == 1
        if shape.in_order and (tile.beats == 1 or shape.groups == 1 or fit):
            store = Store(
                m, "operand", Parts(tile.beats, tile.word_bits), Parts(shape.groups, self._group_bits), copies
            )
            store.write(comes, number, into, self.operand0)
            return store.read(group, out)
        registers = WordRegisters(m, "operand", tile.beats, tile.word_bits, copies)
        registers.write(comes, number, into, self.operand0)
        scalars = tile.rows * tile.cols

        def parts(element: Value) -> list[Value]:
            places = [[shape.place(at, slot) for slot in range(shape.lanes)] for at in range(shape.groups)]
            bits = tile.dtype.bits
            return [Cat(element.word_select(min(at, scalars - 1), bits) for at in each) for each in places]

        return registers.read(out, parts, group)

    def _tree(self, m: Module, row: int, scalars: list[Value], last_part: Value) -> Value:
        """The scalars of a group's row in one, a register in front of every level."""
        if self.fold.terms > 1:
            scalars = self._gathered(m, row, scalars, last_part)
        level = 0
        while len(scalars) > 1:
            pairs = zip(scalars[::2], scalars[1::2], strict=True)
            scalars = [self._join(m, f"join_{row}_{level}_{at}", *pair) for at, pair in enumerate(pairs)]
            level += 1
        return scalars[0]

    def _gathered(self, m: Module, row: int, scalars: list[Value], last_part: Value) -> list[Value]:
        """One scalar for all that become one at once; behind the last ones of a row what changes no sum."""
        shape, fold = self.arrangement, self.fold
        before = [registered(m, each, f"term_{row}_{at}") for at, each in enumerate(scalars)]
        last_part = delayed(m, last_part, fold.cycles((fold.terms - 1).bit_length()), f"last_part_{row}")
        found = []
        for at in range(0, shape.across, fold.terms):
            one = fold.gather(m, f"gather_{row}_{at}", before[at : at + fold.terms])
            beyond = (shape.parts - 1) * shape.across + at >= shape.cols
            found.append(Mux(last_part, C(fold.identity, fold.bits), one) if beyond else one)
        return found

    def _join(self, m: Module, name: str, first: Value, second: Value) -> Value:
        registers = (registered(m, each, f"{name}_operand") for each in (first, second))
        return named(m, self.fold.join(m, name, *registers), f"{name}_joined")

    def _in_time(self, m: Module, level: int, scalar: Value, arrives: Value, parts: int) -> tuple[Value, Value]:
        """Join ``parts`` scalars of a row, one after the other, each pair in one; the last one may be alone."""
        part, last = counter(m, parts, f"part_{level}", arrives)
        second = part[0]
        held = Signal(self.fold.bits, name=f"held_{level}", reset_less=True)
        with m.If(arrives):
            m.d.sync += held.eq(scalar)
        alone = C(self.fold.identity, self.fold.bits)
        joined = self._join(m, f"later_{level}", Mux(second, held, scalar), Mux(second, scalar, alone))
        return joined, delayed(m, arrives & (second | last), 1 + self.fold.depth, f"later_{level}")

    def _leave_known(self, m: Module, results: Value, arrives: Value, ends: Value) -> None:
        """Let them leave when that is told; ``ends``: they are the last ones of a tile."""
        groups = -(-self.tile.rows // self.arrangement.down)
        group = Signal(range(groups), name="result_group")
        with m.If(arrives):
            m.d.sync += group.eq(Mux(ends, 0, group + 1))
        store = Store(m, "result", Parts(groups, len(results)), Parts(self.shape.beats, len(self.result)), 1)
        store.write(arrives, group, C(0, 1), results)
        m.d.comb += self.result.eq(store.read(window_place(m, "word", self.leave, self.shape.beats), C(0, 1)))

    def _leave(self, m: Module, results: Value, arrives: Value) -> None:
        """Let the ``results`` of so many rows as come at once leave as words."""
        groups = -(-self.tile.rows // self.arrangement.down)
        copies = self.plan.leaving.copies(self.plan.waiting, self.initiation_interval)
        group, last = counter(m, groups, "result_group", arrives)
        into, _ = counter(m, copies, "result_written", arrives & last)
        m.submodules.begins = begins = Shared(DelayLine(1, self.latency - 1))
        m.d.comb += begins.i.eq(self.start)
        leaves, word, last_word = window(m, "word", begins.o, self.shape.beats)
        out, _ = counter(m, copies, "result_read", leaves & last_word)
        registers = WordRegisters(m, "result", groups, len(results), copies)
        registers.write(arrives, group, into, results)
        bits, link = self.shape.word_bits, self.shape.link_bits

        def words(element: Value) -> list[Value]:
            padded = Cat(element[: self.shape.bits], C(0, self.shape.beats * link))
            return [padded[at * link : at * link + bits] for at in range(self.shape.beats)]

        m.d.comb += self.result.eq(registers.read(out, words, word))
