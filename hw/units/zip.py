"""Zip: elements side by side."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module

from hw.layout import Format, TokenFormat
from hw.shared import Parametric
from hw.unit import Firing, Rule, Unit
from step.language.graph import Node
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Zip(Rule):
    """Joins the data of all inputs, the first one lowest."""

    items: tuple[TokenFormat, ...]

    @property
    def inputs(self) -> tuple[Format, ...]:
        return self.items

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (TokenFormat(self.items[0].rank, sum(each.bits for each in self.items)),)

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need_aligned()
        firing.put(0, token)
        firing.send(0, Cat(firing.word(port) for port in range(len(self.items))))
        for port in range(len(self.items)):
            firing.take(port)
        firing.finish(token.done)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    return Unit(Zip(tuple(TokenFormat.of(each.type) for each in node.inputs)))
