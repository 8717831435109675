"""Bufferize: puts tokens into a scratchpad, and sends a reference for each buffer that is complete."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Mux
from amaranth.lib.wiring import Out

from hw.firing.machine import Firing
from hw.firing.unit import FiringRule, Unit
from hw.links.layout import TokenFormat, cycles_of, input_formats, output_formats
from hw.memory.scratchpads import share_format
from hw.memory.share import FillerSignature, ShareFormat
from hw.verilog.modules import Parametric
from step.language.faults import Fault
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.bufferize import Bufferize as Operator


@dataclass(frozen=True)
class Bufferize(FiringRule):
    """A token each firing goes into a buffer of ``share``; None: nobody reads the buffers, and none is kept."""

    token: TokenFormat
    references: TokenFormat
    rank: int
    share: ShareFormat | None

    ports = property(lambda self: {} if self.share is None else {"scratchpad": Out(FillerSignature(self.share))})
    inputs = property(lambda self: (self.token,))
    outputs = property(lambda self: (self.references,))

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        outside = token.rank > self.rank
        inside, last = ~(token.done | outside), token.stop >= self.rank
        firing.put(
            0,
            when=~inside | last,
            done=token.done,
            value=inside,
            stop=Mux(token.done, 0, token.stop - self.rank),
            rank=Mux(outside, token.rank - self.rank, 0),
        )
        firing.take(0)
        firing.occupy(when=token.value, cycles=cycles_of(self.token, token))
        firing.finish(token.done)
        if self.share is None:
            return
        scratchpad = firing.unit.scratchpad
        with m.If(inside & scratchpad.too_large):
            firing.fault(Fault.BUFFER_TOO_LARGE)
        firing.room(~inside | scratchpad.space)
        entry = {"value": token.value, "last": last, "stop": Mux(last, self.rank, token.stop), "rank": token.rank}
        if self.share.control:
            entry["control"] = token.control
        value = token.value
        if self.token.most_rows:
            entry["rows"] = token.rows
            value = value & (token.rows != 0)
        m.d.comb += [scratchpad.entry[name].eq(field) for name, field in entry.items()]
        m.d.comb += [scratchpad.value.eq(value), scratchpad.store.eq(firing.fires & inside)]
        if self.share.word_bits:
            m.d.comb += scratchpad.word.eq(firing.word(0))


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    (token,), (references,) = input_formats(node, netlist), output_formats(node, netlist)
    return Unit(Bufferize(token, references, node.operator_as(Operator).rank, share_format(node, netlist)))
