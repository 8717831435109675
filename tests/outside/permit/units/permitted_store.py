"""PermittedStore: one beat per firing."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal

from hw.firing.machine import Firing
from hw.links.layout import Format, TokenFormat, WriteFormat, input_formats
from hw.units.beats import BeatRule, gather_beat, storing
from hw.verilog.modules import Parametric
from permit.ops.permitted_store import DATA
from step.language.graph import Node
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Issue(BeatRule):
    """Both tokens leave with the last beat of the tile."""

    permit: TokenFormat

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.permit, self.data)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.write,)

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need_aligned()
        beat, written = Signal(range(self.beats)), Signal(32)
        last = ~token.value | (beat == self.beats - 1)
        firing.complete(0, data=gather_beat(m, firing, DATA, self.data, beat, self.write.bits))
        firing.occupy(when=token.value)
        with m.If(token.value):
            firing.put(0, address=firing.unit.base + written)
            firing.next(written, written + 1)
            firing.next(beat, Mux(last, 0, beat + 1))
        with m.If(last):
            for port in range(2):
                firing.take(port)
        firing.finish(token.done)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    permit, data = input_formats(node, netlist)
    return storing(node, Issue(data, WriteFormat(8 * netlist.fabric.memory.beat_bytes), permit))
