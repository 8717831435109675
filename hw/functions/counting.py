"""Generators of functions that count."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module

from hw.functions.datapath import no_datapath
from hw.functions.generator import Generator
from step.functions.counting import CountFrom
from step.language.function import Function
from step.lowering.plans.plan import Application, Plan


def datapath(function: Function, application: Application, plan: Plan) -> Generator:
    """The generator."""
    if not isinstance(function, CountFrom):
        raise no_datapath(function)
    return CountFromGenerator(plan)


class CountFromGenerator(Generator):
    """``operand0`` plus the index, ``operand1`` times."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, [32, 32], 32)
        self.parameters = {}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += [
            self.none.eq(self.operand1 == 0),
            self.last.eq(self.index == self.operand1 - 1),
            self.result.eq(self.operand0 + self.index),
        ]
        return m
