"""LinearOffChipStore: writes every tile beat by beat, one tile after the other."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal

from hw.firing.machine import Firing
from hw.links.layout import WriteFormat, input_formats
from hw.units.beats import BeatRule, gather_beat, storing
from hw.verilog.modules import Parametric
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.linear_off_chip_store import LinearOffChipStore as Operator


@dataclass(frozen=True)
class StoreIssue(BeatRule):
    """Tiles follow each other in memory."""

    inputs = property(lambda self: (self.data,))
    outputs = property(lambda self: (self.write,))

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        self.check_rows(m, firing, 0)
        beat = Signal(range(self.beats))
        last = beat == self.beats - 1
        written = Signal(32)
        firing.complete(0, data=gather_beat(m, firing, 0, self.tile, beat, self.write.bits))
        firing.occupy(when=token.value)
        with m.If(token.value):
            firing.put(0, address=firing.unit.base + written)
            firing.next(written, written + 1)
            firing.next(beat, Mux(last, 0, beat + 1))
            with m.If(last):
                firing.take(0)
        with m.Else():
            firing.take(0)
            firing.finish(token.done)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator = node.operator_as(Operator)
    write = WriteFormat(8 * netlist.fabric.memory.beat_bytes)
    (token,) = input_formats(node, netlist)
    rows = operator.tile[0] if operator.tile and token.most_rows else None
    return storing(node, StoreIssue(token, write, rows=rows))
