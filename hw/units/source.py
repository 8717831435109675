"""Source: takes a stream from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In

from hw.edge import AxiStreamSignature
from hw.firing import Firing
from hw.layout import Format, TokenFormat, output_formats
from hw.rule import Rule
from hw.shared import Parametric
from hw.unit import Unit
from step.language.graph import Node
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Source(Rule):
    """One transfer on the port ``external`` per firing; a token enters with its last one.

    Transfers may come with gaps, so the words of a value are gathered, and read while those of the next one come.
    """

    token: TokenFormat

    initiation_interval = 1

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.token,)

    @property
    def ports(self) -> Mapping[str, Any]:
        return {"external": In(AxiStreamSignature(self.token))}

    def fire(self, m: Module, firing: Firing) -> None:
        external = firing.unit.external
        header = Signal(self.token.header)
        m.d.comb += header.as_value().eq(external.tuser)
        firing.wait(external.tvalid)
        control = {"control": external.tdata[: self.token.bits]} if self.token.control else {}
        firing.put(0, header, when=external.tlast, **control)
        firing.finish(external.tlast & header.done)
        m.d.comb += external.tready.eq(firing.fires)
        if self.token.word_bits:
            word = external.tdata[: self.token.word_bits]
            firing.send(0, self._gather(m, firing, word, header.value, external.tlast))

    def _gather(self, m: Module, firing: Firing, data: Value, value: Value, last: Value) -> Value:
        """The words of the last value, from the cycle after its ``last`` one on."""
        beats = self.token.beats
        if beats == 1:
            return firing.lagging(data)
        place = Signal(range(beats))
        phase = Signal(range(beats))
        comes = firing.fires & value
        with m.If(comes):
            m.d.sync += place.eq(Mux(last, 0, place + 1))
        with m.If(comes & last):
            m.d.sync += phase.eq(0)
        with m.Else():
            m.d.sync += phase.eq(phase + 1)
        m.submodules.words = words = Memory(shape=len(data), depth=beats, init=[])
        write, read = words.write_port(), words.read_port(domain="comb")
        m.d.comb += [write.addr.eq(place), write.data.eq(data), write.en.eq(comes), read.addr.eq(phase)]
        word: Value = read.data
        return word


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    return Unit(Source(*output_formats(node, netlist)))
