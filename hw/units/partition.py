"""Partition: routes chunks to the outputs that selectors name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Mux

from hw.firing import Firing
from hw.layout import Format, TokenFormat, input_formats, output_formats
from hw.rule import Rule
from hw.shared import Parametric
from hw.unit import Unit
from step.language.faults import Fault
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.partition import DATA, SELECTOR
from step.ops.partition import Partition as Operator


@dataclass(frozen=True)
class Partition(Rule):
    """Per selector, the data up to a stop >= ``rank`` to every selected one of ``chunks``."""

    data: TokenFormat
    selector: TokenFormat
    chunks: tuple[TokenFormat, ...]
    rank: int

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.data, self.selector)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return self.chunks

    def fire(self, m: Module, firing: Firing) -> None:
        data, selector = firing.need(DATA), firing.need(SELECTOR)
        for port in range(self.selector.bits):
            firing.pass_data(DATA, port)
        firing.occupy(when=selector.value & data.value & selector.control.any())
        with m.If(selector.value):
            self._route(m, firing, data, selector)
        with m.Elif(selector.done != data.done):
            with m.If(data.done):
                firing.fault(Fault.MISSING_DATA)
            with m.Else():
                firing.fault(Fault.LEFTOVER_DATA)
        with m.Elif(selector.done):
            for port in range(self.selector.bits):
                firing.put(port, done=1)
            firing.take(DATA)
            firing.take(SELECTOR)
            firing.finish()
        with m.Else():
            with m.If((data.rank != selector.rank + self.rank) | (data.stop != selector.stop + self.rank)):
                firing.fault(Fault.STOPS_DISAGREE)
            firing.take(DATA)
            firing.take(SELECTOR)

    def _route(self, m: Module, firing: Firing, data: Any, selector: Any) -> None:
        """One token of the chunk that belongs to ``selector``."""
        ends = data.stop >= self.rank
        with m.If(data.done):
            firing.fault(Fault.MISSING_DATA)
        with m.Elif((data.rank > self.rank) | (ends & (data.stop != selector.stop + self.rank))):
            firing.fault(Fault.STOPS_DISAGREE)
        rank = data.rank[: self.chunks[0].stop_bits]  # a higher one is a fault
        for port in range(self.selector.bits):
            with m.If(selector.control[port]):
                firing.put(port, data, stop=Mux(ends, self.rank, data.stop), rank=rank)
        firing.take(DATA)
        with m.If(ends):
            firing.take(SELECTOR)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    assert isinstance(node.operator, Operator)
    data, selector = input_formats(node, netlist)
    return Unit(Partition(data, selector, output_formats(node, netlist), node.operator.rank))
