"""Sink: hands a stream to the outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import Out

from hw.layout import Format, TokenFormat
from hw.shared import Parametric
from hw.unit import Firing, Rule, Unit
from step.language.graph import Node
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Sink(Rule):
    """Offers the token in front on the port ``external``, and takes it when that does."""

    token: TokenFormat

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.token,)

    @property
    def ports(self) -> Mapping[str, Any]:
        return {"external": Out(stream.Signature(self.token.layout))}

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        external = firing.unit.external
        firing.room(external.ready)
        firing.take(0)
        firing.finish(token.done)
        m.d.comb += [external.payload.eq(token), external.valid.eq(firing.ready & firing.visible(0))]


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    return Unit(Sink(TokenFormat.of(node.inputs[0].type)))
