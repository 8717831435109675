"""What the rules that start a datapath have in common."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Signal, Value

from hw.firing.machine import Firing
from hw.firing.rule import Rule
from hw.functions.datapath import Datapath
from hw.functions.words import in_words, whole
from hw.links.layout import Format, TokenFormat
from hw.verilog.modules import Shared
from step.lowering.plans.plan import UnitPlan


@dataclass(frozen=True)
class FunctionRule(Rule):
    """A rule whose values go through ``datapath``, and that takes as long as this does.

    Unless the datapath takes words as they come, they are gathered; it starts with the last one, and its result goes
    out word by word. A result that is control goes into the header, which waits for it. Where nobody reads it, there
    is no datapath, and only control passes.
    """

    operands: tuple[TokenFormat, ...]
    result: TokenFormat
    datapath: Datapath | None

    stored = False
    """Results leave a store (see `UnitPlan`)."""

    @property
    def plan(self) -> UnitPlan:
        """How long a firing takes."""
        operands = tuple(each.cycles for each in self.operands)
        function = None if self.datapath is None else self.datapath.plan
        return UnitPlan(function, operands, self.result.cycles, self.result.control, self.stored)

    @property
    def initiation_interval(self) -> int:
        return self.plan.initiation_interval

    @property
    def latency(self) -> int:  # type: ignore[override]
        return self.plan.latency

    @property
    def burst(self) -> int:
        return self.plan.burst

    @property
    def inputs(self) -> tuple[Format, ...]:
        return self.operands

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.result,)

    def start(self, m: Module, firing: Firing, value: Value) -> Shared:
        """The datapath, which starts on the operands of a firing with a ``value``."""
        assert self.datapath is not None
        m.submodules.datapath = datapath = Shared(self.datapath)
        if self.datapath.streams:
            m.d.comb += datapath.start.eq(firing.fired(value))
            for port, format in enumerate(self.operands):
                if format.items:
                    m.d.comb += getattr(datapath, f"operand{port}").eq(firing.word(port))
            return datapath
        phase, gathers, final = firing.phase(), Signal(), self.plan.gathering
        last = gathers & (phase == final)
        with m.If(firing.fires & value):
            m.d.sync += gathers.eq(1)
        with m.Elif(last):
            m.d.sync += gathers.eq(0)
        m.d.comb += datapath.start.eq(last)
        for port, format in enumerate(self.operands):
            operand = getattr(datapath, f"operand{port}")
            if format.control:
                m.d.comb += operand.eq(firing.word(port))
            elif format.word_bits:
                m.d.comb += operand.eq(
                    whole(m, f"operand{port}", firing.word(port), phase, format, self.plan.gathering)
                )
        return datapath

    def give(self, m: Module, firing: Firing, result: Value, puts: Value) -> None:
        """``result`` is what became of the operands of a firing that ``puts`` a value, as late as this enters."""
        self.leave(firing, self.words(m, firing, result, puts))

    def words(self, m: Module, firing: Firing, result: Value, puts: Value) -> Value:
        """Such a ``result`` word by word, or as control."""
        if self.result.control or (self.datapath is not None and self.datapath.streams):
            return result
        return in_words(m, result, firing.delayed(firing.fired(puts)), self.result)

    def leave(self, firing: Firing, word: Value) -> None:
        """The words of what goes out, or its control."""
        if self.result.control:
            firing.late(0, control=word)
        else:
            firing.send(0, word)
