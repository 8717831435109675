"""Promote: every token waits for the next one; the last one's stop is raised."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amaranth.hdl import Module, Signal

from hw.firing import Firing
from hw.layout import Format, TokenFormat, input_formats
from hw.rule import Rule
from hw.shared import Parametric
from hw.unit import Unit
from step.language.graph import Node
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Promote(Rule):
    """Holds one token back until it shows whether Done follows."""

    token: TokenFormat

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.token,)

    @property
    def held(self) -> tuple[int, ...]:
        return (0,)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (replace(self.token, rank=self.token.rank + 1),)

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        held = Signal(self.token.header)
        holds = Signal()
        firing.pass_data(0, 0)
        firing.drop(0, when=holds & held.value)
        firing.occupy(when=holds & held.value)
        with m.If(~token.done):
            with m.If(holds):
                firing.put(0, held)
            firing.next(held, token)
            firing.next(holds, 1)
            firing.take(0)
        with m.Elif(holds):
            firing.put(0, held, stop=self.token.rank + 1)
            firing.next(holds, 0)
        with m.Else():
            firing.put(0, token)
            firing.take(0)
            firing.finish()


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    return Unit(Promote(*input_formats(node, netlist)))
