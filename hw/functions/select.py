"""Datapaths of functions that make selectors."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from amaranth.hdl import Module

from hw.functions.datapath import Datapath, no_datapath
from step.functions.select import SelectAll, SelectValid
from step.language.function import Function
from step.lowering.application import Application


@singledispatch
def datapath(function: Function, application: Application) -> Datapath:
    """The datapath: wires."""
    raise no_datapath(function)


@datapath.register
def _(function: SelectValid, application: Application) -> Datapath:
    return SelectValidDatapath()


@datapath.register
def _(function: SelectAll, application: Application) -> Datapath:
    return SelectAllDatapath(application.inputs[0].bits, application.result.bits)


class _Wires(Datapath):
    """A selector straight from the operand."""

    clocked = False
    initiation_interval = 1
    latency = 0
    streams = True


class SelectValidDatapath(_Wires):
    """Target 0 unless the flag is set."""

    parameters = ()

    def __init__(self) -> None:
        super().__init__([1], 1, reduce=False)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.result.eq(~self.operand0)
        return m


class SelectAllDatapath(_Wires):
    """All targets, whatever the operand of ``bits`` bits is."""

    def __init__(self, bits: int, targets: int) -> None:
        self.bits, self.targets = bits, targets
        super().__init__([bits], targets, reduce=False)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.bits, self.targets

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.result.eq((1 << self.targets) - 1)
        return m
