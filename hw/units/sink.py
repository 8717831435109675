"""Sink: hands a stream to the outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Out

from hw.layout import Format, TokenFormat
from hw.shared import Parametric
from hw.unit import Firing, Rule, Unit
from step.language.graph import Node
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Sink(Rule):
    """Takes a token, and offers it on the port ``external`` from the next cycle on, when its data is there."""

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
        offers, header = Signal(), Signal(self.token.header)
        firing.room(~offers | external.ready)
        firing.take(0)
        firing.next(header, token)
        firing.finish(token.done)
        with m.If(firing.fires):
            m.d.sync += offers.eq(1)
        with m.Elif(external.ready):
            m.d.sync += offers.eq(0)
        m.d.comb += external.valid.eq(offers)
        for name in ("done", "value", "stop", "rank"):
            m.d.comb += external.payload[name].eq(header[name])
        m.d.comb += external.payload.data.eq(header.control if self.token.control else self._data(m, firing))

    def _data(self, m: Module, firing: Firing) -> Value:
        """The data of the token on offer: in the first cycle it comes from the channel, and is kept for the others."""
        first, kept = firing.lagging(firing.fires), Signal(self.token.bits, reset_less=True)
        with m.If(first):
            m.d.sync += kept.eq(firing.word(0))
        return Mux(first, firing.word(0), kept)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    return Unit(Sink(TokenFormat.of(node.inputs[0].type)))
