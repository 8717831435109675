"""Broadcast: every token to all outputs at once."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module

from hw.firing import Firing
from hw.layout import Format, TokenFormat, input_formats, output_formats
from hw.rule import Rule
from hw.shared import Parametric
from hw.unit import Unit
from step.language.graph import Node
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Broadcast(Rule):
    """Copies a token to all of ``copies``, of which some may want only the control."""

    token: TokenFormat
    copies: tuple[TokenFormat, ...]

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.token,)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return self.copies

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        for port in range(len(self.copies)):
            firing.put(port, token)
            firing.pass_data(0, port)
        firing.take(0)
        firing.occupy(when=token.value)
        firing.finish(token.done)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    (token,) = input_formats(node, netlist)
    return Unit(Broadcast(token, output_formats(node, netlist)))
