"""Source: takes a stream from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In

from hw.layout import Format, TokenFormat
from hw.shared import Parametric
from hw.unit import Firing, Rule, Unit
from step.language.graph import Node
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Source(Rule):
    """Puts what is on the port ``external``."""

    token: TokenFormat

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.token,)

    @property
    def ports(self) -> Mapping[str, Any]:
        return {"external": In(stream.Signature(self.token.layout))}

    def fire(self, m: Module, firing: Firing) -> None:
        external = firing.unit.external
        firing.wait(external.valid)
        token = external.payload
        firing.put(0, token, **({"control": token.data} if self.token.control else {}))
        if self.token.data_bits:
            firing.send(0, firing.lagging(token.data))
        firing.finish(external.payload.done)
        m.d.comb += external.ready.eq(firing.fires)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    return Unit(Source(TokenFormat.of(node.output_types[0])))
