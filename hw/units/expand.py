"""Expand: repeats elements, counted or after a reference."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amaranth.hdl import Module, Mux, Signal

from hw.firing import Firing
from hw.layout import Format, TokenFormat, input_formats
from hw.rule import Rule
from hw.shared import Parametric
from hw.unit import Unit
from step.language.faults import Fault
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.expand import Expand as Operator

DATA, REFERENCE = 0, 1


@dataclass(frozen=True)
class ExpandStatic(Rule):
    """Every value ``count`` times; its stop rides with the last one."""

    token: TokenFormat
    count: int

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.token,)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.token,)

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        index = Signal(range(self.count))
        firing.pass_data(0, 0)
        firing.occupy(when=token.value)
        with m.If(token.value & (index != self.count - 1)):
            firing.put(0, token, stop=0)
            firing.next(index, index + 1)
        with m.Else():
            firing.put(0, token)
            firing.take(0)
            firing.next(index, 0)
            firing.finish(token.done)


@dataclass(frozen=True)
class Expand(Rule):
    """The data in front once per element of the reference, up to a reference stop >= ``rank``."""

    data: TokenFormat
    reference: TokenFormat
    rank: int

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.data, self.reference)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (replace(self.data, rank=self.reference.rank),)

    def fire(self, m: Module, firing: Firing) -> None:
        data, reference = firing.need(DATA), firing.need(REFERENCE)
        last = reference.done | (reference.stop >= self.rank)
        outside = Mux(reference.rank > self.rank, reference.rank, 0)
        with m.If((reference.done != data.done) | (outside != data.rank) | (last & (reference.stop != data.stop))):
            firing.fault(Fault.STOPS_DISAGREE)
        control = {"control": data.control} if self.data.control else {}
        firing.put(0, done=reference.done, value=reference.value, stop=reference.stop, rank=reference.rank, **control)
        firing.pass_data(DATA, 0)
        firing.occupy(when=reference.value)
        firing.take(REFERENCE)
        with m.If(last):
            firing.take(DATA)
        firing.finish(reference.done)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator = node.operator
    assert isinstance(operator, Operator)
    data, *references = input_formats(node, netlist)
    if operator.count is not None:
        return Unit(ExpandStatic(data, operator.count))
    return Unit(Expand(data, references[0], operator.rank))
