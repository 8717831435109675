"""Datapaths of functions that make selectors, or keep what these would have."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath, no_datapath
from hw.functions.order import ordered, scalar_of
from hw.primitives.timing import counter, delayed, window
from step.functions.select import KeepTopK, SelectAll, SelectIndices, SelectValid, TargetIndices, TopK
from step.language.dtypes import DType
from step.language.function import Function
from step.language.types import Tile
from step.lowering.plans.plan import Application, Plan
from step.lowering.plans.select import TopKPlan


def datapath(function: Function, application: Application, plan: Any) -> Datapath:
    """The datapath: wires, except for `TopK`, `KeepTopK` and `TargetIndices`."""
    operand = application.inputs[0]
    match function:
        case SelectValid():
            return SelectValidDatapath(plan)
        case SelectAll():
            return SelectAllDatapath(plan, operand.bits, application.result.bits)
        case SelectIndices():
            return SelectIndicesDatapath(plan, function.targets, reduce=application.reduce)
        case TargetIndices():
            return TargetIndicesDatapath(plan, function.k, operand.bits)
        case TopK() | KeepTopK() if isinstance(operand, Tile):
            return (TopKDatapath if isinstance(function, TopK) else KeepTopKDatapath)(plan, function.k, operand.dtype)
    raise no_datapath(function)


class _Wires(Datapath):
    """A selector straight from the operand."""

    clocked = False


class SelectValidDatapath(_Wires):
    """Target 0 unless the flag is set."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, [1], 1, reduce=False, latency=0)
        self.parameters = {}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.result.eq(~self.operand0)
        return m


class SelectAllDatapath(_Wires):
    """All targets, whatever the operand of ``bits`` bits is."""

    def __init__(self, plan: Plan, bits: int, targets: int) -> None:
        self.bits, self.targets = bits, targets
        super().__init__(plan, [bits], targets, reduce=False, latency=0)
        self.parameters = {"operand_bits": self.bits, "targets": self.targets}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.result.eq((1 << self.targets) - 1)
        return m


class SelectIndicesDatapath(Datapath):
    """The target whose index is the operand; in a reduction, with those of the indices before it."""

    def __init__(self, plan: Plan, targets: int, *, reduce: bool) -> None:
        self.targets, self.reduce = targets, reduce
        super().__init__(plan, [32], targets, reduce=reduce, latency=0)
        self.parameters = {"targets": self.targets, "reduce": self.reduce}

    @property
    def clocked(self) -> bool:  # type: ignore[override]
        return self.reduce

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        index = self.operand0[: max(1, (self.targets - 1).bit_length())]
        target = Cat(index == at for at in range(self.targets))
        if not self.reduce:
            m.d.comb += self.result.eq(target)
            return m
        before = Signal(self.targets, reset_less=True)
        m.d.comb += self.result.eq(Mux(self.first, 0, before) | Mux(self.start, target, 0))
        with m.If(self.start):
            m.d.sync += before.eq(self.result)
        return m


class TargetIndicesDatapath(Datapath):
    """The lowest target of what is left is the next index, one in a cycle; then it is left no more."""

    def __init__(self, plan: Plan, k: int, targets: int) -> None:
        self.k, self.targets = k, targets
        super().__init__(plan, [targets], 32 * k, reduce=False, latency=k, busy=k)
        self.parameters = {"k": self.k, "targets": self.targets}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        bits = max(1, (self.targets - 1).bit_length())
        rest = Signal(self.targets, reset_less=True)
        left, above, lowest = Signal(self.targets), Signal(self.targets), Signal(self.targets)
        m.d.comb += [
            left.eq(Mux(self.start, self.operand0, rest)),
            above.eq(left & (left - 1)),  # all but the lowest
            lowest.eq(left & ~above),
        ]
        index = Cat(Cat(lowest[at] for at in range(self.targets) if at >> bit & 1).any() for bit in range(bits))
        found = Signal(bits * self.k, reset_less=True)
        m.d.sync += [rest.eq(above), found.eq(Cat(found, index)[bits:])]
        zeros = C(0, 32 - bits)
        m.d.comb += self.result.eq(Cat(Cat(found.word_select(at, bits), zeros) for at in range(self.k)))
        return m


class _Ranking(Datapath):
    """Of ``rows`` with ``count`` scores each, every one that less than ``k`` others of its row beat: larger ones, or
    equal ones before it.

    In a cycle some of the scores of a row are compared with all of them, which count how often they are beaten.
    """

    def __init__(self, plan: TopKPlan, k: int, dtype: DType, result: int) -> None:
        self.k, self.count, self.dtype, self.at_once, self.rows = k, plan.scores, dtype, plan.at_once, plan.rows
        self.steps = -(-self.count // self.at_once)
        cycles = self.rows * self.steps
        bits = self.rows * self.count * dtype.bits
        super().__init__(plan, [bits], result, reduce=False, latency=1 + cycles, busy=cycles + plan.keeps)
        self.parameters = {
            "k": self.k,
            "scores": self.count,
            "format": self.dtype,
            "at_once": self.at_once,
            "rows": self.rows,
        }

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        bits, steps, count = self.dtype.bits, self.steps, self.count
        given = [self.operand0.word_select(at, bits) for at in range(self.rows * count)]
        scores = [Signal(bits, name=f"score_{at}", reset_less=True) for at in range(len(given))]
        with m.If(self.start):
            m.d.sync += [to.eq(ordered(m, f"order_{at}", given[at], self.dtype)) for at, to in enumerate(scores)]
        active, _, _ = window(m, "cycle", self.start, self.rows * steps)
        step, last = counter(m, steps, "step", active)
        row, _ = counter(m, self.rows, "row", active & last)
        now = [Array(scores[at::count])[row] if self.rows > 1 else scores[at] for at in range(count)]
        others: list[tuple[Value, Value]] = []  # a score, and its number
        for lane in range(self.at_once):
            here = range(lane, count, self.at_once)
            score, number = Signal(bits, name=f"other_{lane}"), Signal(range(count + 1), name=f"number_{lane}")
            m.d.comb += [
                score.eq(Array([*(now[at] for at in here), *[C(0, bits)] * (steps - len(here))])[step]),
                number.eq(Array([*here, *[count] * (steps - len(here))])[step]),
            ]
            others.append((score, number))
        wins: list[Value] = []
        for at, mine in enumerate(now):
            beaten = Signal(range(count), name=f"beaten_{at}", reset_less=True)
            before = [number < at if at else C(0, 1) for _, number in others]
            larger = [Mux(each, score >= mine, score > mine) for each, (score, _) in zip(before, others, strict=True)]
            by = sum(larger, C(0, 1))
            with m.If(active):
                m.d.sync += beaten.eq(Mux(step == 0, 0, beaten) + by)
            wins.append(beaten < self.k)
        self._finish(m, scores, Cat(wins), active & last, row)
        return m

    def _finish(self, m: Module, scores: list[Signal], wins: Value, last: Value, row: Value) -> None:
        """Make the result of those that win in ``row``, which are there behind the ``last`` step of it."""
        raise NotImplementedError


class TopKDatapath(_Ranking):
    """A selector of those that win."""

    def __init__(self, plan: TopKPlan, k: int, dtype: DType) -> None:
        super().__init__(plan, k, dtype, plan.scores)

    def _finish(self, m: Module, scores: list[Signal], wins: Value, last: Value, row: Value) -> None:
        m.d.comb += self.result.eq(wins)


class KeepTopKDatapath(_Ranking):
    """The scores that win, and zeros."""

    def __init__(self, plan: TopKPlan, k: int, dtype: DType) -> None:
        super().__init__(plan, k, dtype, plan.rows * plan.scores * dtype.bits)

    def _finish(self, m: Module, scores: list[Signal], wins: Value, last: Value, row: Value) -> None:
        done, row = delayed(m, last, 1, "row_done"), delayed(m, row, 1, "row_of")
        kept = Signal((self.rows - 1) * self.count, reset_less=True)
        for at in range(self.rows - 1):
            with m.If(done & (row == at)):
                m.d.sync += kept.word_select(at, self.count).eq(wins)
        chosen = Cat(kept, wins)
        scalars = (scalar_of(each, self.dtype) for each in scores)
        m.d.comb += self.result.eq(Cat(Mux(chosen[at], each, 0) for at, each in enumerate(scalars)))
