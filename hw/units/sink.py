"""Sink: hands a stream to the outside."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import Out

from hw.firing.machine import Firing
from hw.firing.unit import FiringRule, Unit
from hw.links.layout import AxiStreamSignature, TokenFormat, cycles_of, input_formats
from hw.primitives.timing import becomes, held
from hw.verilog.modules import Parametric
from step.language.graph import Node
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Sink(FiringRule):
    """Reads a word of a token per firing, and offers it on the port ``external`` from the next cycle on.

    The token is taken with its last word.
    """

    token: TokenFormat

    initiation_interval = 1

    inputs = property(lambda self: (self.token,))
    ports = property(lambda self: {"external": Out(AxiStreamSignature(self.token))})

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        external = firing.unit.external
        offers = Signal()
        header = Signal(self.token.header)
        last = Signal()
        firing.room(~offers | external.tready)
        m.d.comb += last.eq(1)
        if self.token.words > 1:
            place = Signal(range(self.token.words))
            m.d.comb += last.eq(~token.value | (place == cycles_of(self.token, token) - 1))
            firing.read_from(0, place)
            firing.next(place, Mux(last, 0, place + 1))
        with m.If(last):
            firing.take(0)
        firing.next(header, token)
        firing.finish(token.done)
        becomes(m, offers, (firing.fires, 1), (external.tready, 0))
        m.d.comb += [external.tvalid.eq(offers), external.tlast.eq(firing.latched(last))]
        m.d.comb += external.tuser.eq(header.as_value())
        if self.token.edge_bits:
            data = header.control if self.token.control else self._word(m, firing)
            m.d.comb += external.tdata.eq(Mux(header.value, data, 0))  # else it may never have been written

    def _word(self, m: Module, firing: Firing) -> Value:
        """The word on offer: in the first cycle it comes from the channel, and is kept for the others."""
        first, word = firing.fired(), firing.word(0)
        return Mux(first, word, held(m, word, first, "kept"))


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    return Unit(Sink(*input_formats(node, netlist)))
