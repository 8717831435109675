"""Datapaths of functions that make selectors."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from amaranth.hdl import Array, C, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath, no_datapath
from hw.functions.order import ordered
from hw.functions.store import run
from step.functions.select import SelectAll, SelectValid, TopK
from step.language.dtypes import DType
from step.language.function import Function
from step.language.types import Tile
from step.lowering.plans.plan import Application, Plan
from step.lowering.plans.select import TopKPlan


@singledispatch
def datapath(function: Function, application: Application, plan: Plan) -> Datapath:
    """The datapath: wires, except for `TopK`."""
    raise no_datapath(function)


@datapath.register
def _(function: SelectValid, application: Application, plan: Plan) -> Datapath:
    return SelectValidDatapath(plan)


@datapath.register
def _(function: SelectAll, application: Application, plan: Plan) -> Datapath:
    return SelectAllDatapath(plan, application.inputs[0].bits, application.result.bits)


@datapath.register
def _(function: TopK, application: Application, plan: TopKPlan) -> Datapath:
    (tile,) = application.inputs
    assert isinstance(tile, Tile)
    return TopKDatapath(plan, function.k, tile.dtype)


class _Wires(Datapath):
    """A selector straight from the operand."""

    clocked = False


class SelectValidDatapath(_Wires):
    """Target 0 unless the flag is set."""

    parameters = ()

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, [1], 1, reduce=False, latency=0)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.result.eq(~self.operand0)
        return m


class SelectAllDatapath(_Wires):
    """All targets, whatever the operand of ``bits`` bits is."""

    def __init__(self, plan: Plan, bits: int, targets: int) -> None:
        self.bits, self.targets = bits, targets
        super().__init__(plan, [bits], targets, reduce=False, latency=0)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.bits, self.targets

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.result.eq((1 << self.targets) - 1)
        return m


class TopKDatapath(Datapath):
    """Every one of ``count`` scores that less than ``k`` others beat: larger ones, or equal ones before it.

    In a cycle some of the scores are compared with all scores, which count how often they are beaten.
    """

    def __init__(self, plan: TopKPlan, k: int, dtype: DType) -> None:
        self.k, self.count, self.dtype, self.at_once = k, plan.scores, dtype, plan.at_once
        self.steps = steps = -(-self.count // self.at_once)
        super().__init__(plan, [self.count * dtype.bits], self.count, reduce=False, latency=1 + steps, busy=steps)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.k, self.count, self.dtype, self.at_once

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        bits, steps = self.dtype.bits, self.steps
        given = [self.operand0.word_select(at, bits) for at in range(self.count)]
        scores = [Signal(bits, name=f"score_{at}", reset_less=True) for at in range(self.count)]
        with m.If(self.start):
            m.d.sync += [to.eq(ordered(m, f"order_{at}", given[at], self.dtype)) for at, to in enumerate(scores)]
        active, step, _ = run(m, "step", self.start, steps)
        others: list[tuple[Value, Value]] = []  # a score, and its number
        for lane in range(self.at_once):
            here = range(lane, self.count, self.at_once)
            score, number = Signal(bits, name=f"other_{lane}"), Signal(range(self.count + 1), name=f"number_{lane}")
            m.d.comb += [
                score.eq(Array([*(scores[at] for at in here), *[C(0, bits)] * (steps - len(here))])[step]),
                number.eq(Array([*here, *[self.count] * (steps - len(here))])[step]),
            ]
            others.append((score, number))
        for at, mine in enumerate(scores):
            beaten = Signal(range(self.count), name=f"beaten_{at}", reset_less=True)
            before = [number < at if at else C(0, 1) for _, number in others]
            larger = [Mux(each, score >= mine, score > mine) for each, (score, _) in zip(before, others, strict=True)]
            by = sum(larger, C(0, 1))
            with m.If(active):
                m.d.sync += beaten.eq(Mux(step == 0, 0, beaten) + by)
            m.d.comb += self.result[at].eq(beaten < self.k)
        return m
