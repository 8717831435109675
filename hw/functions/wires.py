"""Datapaths of wires: functions whose result is there at once, and generators of pieces that are counted."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hw.functions.datapath import Datapath, Hardware
from hw.verilog.modules import Parametric
from hw.verilog.spelling import Spelling, function_words
from step.language.types import Selector
from step.lowering.plans.plan import Wires

INDEX_BITS = 32


class WiresDatapath(Datapath):
    """``result`` = the `value` of the operands."""

    plan: Wires

    clocked = property(lambda self: self.plan.cycles > 0 or self.plan.reduce)

    @property
    def spelling(self) -> Spelling:
        return Spelling.some(*function_words(self.plan.function)[1:], "reduce" if self.plan.reduce else "")


class Generator(Hardware, Parametric):
    """Piece ``index`` of what the ``operand``\\ s make: a `step.language.function.CountedFunction` made hardware.

    At once there are ``none``: that is no piece at all, and ``last``: piece ``index`` is the last one. ``result``
    follows `latency` cycles later; with another index or other operands in every cycle. One with a ``fault`` has
    ``invalid`` as well, at once: the operands make no sense. One with a ``step`` is told what is ``reached`` with this
    piece, a step for each: so it needs no product to find its last one.
    """

    clocked = False
    counts: ClassVar[bool] = False
    """Whether there is a step: the rows of the function."""

    def __init__(self, plan: Wires) -> None:
        function: Any = plan.function
        self.function, self.latency = function, plan.latency
        self.chooses = isinstance(plan.inputs[0], Selector)
        step = min(function.rows, 1 << INDEX_BITS) if self.counts else 0  # more than any operand, so one is enough
        self.step = step
        members = {f"operand{port}": In(width) for port, width in enumerate(plan.operand_bits)}
        members |= {"index": In(INDEX_BITS)} | ({"reached": In(INDEX_BITS + 1)} if step else {})
        members |= {"none": Out(1), "last": Out(1), "result": Out(plan.result_bits)}
        super().__init__(members | ({"invalid": Out(1)} if function.fault else {}))
        self.parameters = {"function": function, "chooses": self.chooses}

    @abc.abstractmethod
    def outputs(self, m: Module) -> dict[str, Any]:
        """The outputs by their names."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += [getattr(self, name).eq(value) for name, value in self.outputs(m).items()]
        return m
