"""Broadcast: every token to all outputs at once."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module

from hw.layout import Format, TokenFormat
from hw.shared import Parametric
from hw.unit import Firing, Rule, Unit
from step.language.graph import Node
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Broadcast(Rule):
    """Copies a token to ``copies`` outputs."""

    token: TokenFormat
    copies: int

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.token,)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.token,) * self.copies

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        for port in range(self.copies):
            firing.put(port, token)
            firing.pass_data(0, port)
        firing.take(0)
        firing.finish(token.done)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    return Unit(Broadcast(TokenFormat.of(node.inputs[0].type), len(node.output_types)))
