"""PermittedStore: one beat per firing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hw.firing.machine import Firing
from hw.firing.unit import STATUS, Unit, join, pass_status
from hw.links.channel import ConsumerSignature
from hw.links.layout import Format, TokenFormat, WriteFormat, input_formats
from hw.memory.port import OffChipPort, outside
from hw.units.beats import BeatRule, gather_beat
from hw.verilog.modules import Parametric, Shared
from hw.verilog.structure import MEMORY_RESET
from permit.ops.permitted_store import DATA
from step.language.graph import Node
from step.lowering.links import INSIDE
from step.lowering.memory import MemoryMap
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


class PermittedStore(Parametric):
    """The machine, and the channel in front of the memory."""

    def __init__(self, issue: Issue) -> None:
        self.issue = issue
        inputs = {f"input{port}": In(ConsumerSignature(each)) for port, each in enumerate(issue.inputs)}
        external = Out(stream.Signature(issue.write.header))
        super().__init__({**inputs, "base": In(32), "external": external, MEMORY_RESET: In(1), **STATUS})
        self.parameters = {"issue": self.issue}

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.issue = issue = Shared(Unit(self.issue))
        m.submodules.writes = writes = Shared(OffChipPort(self.issue.write, INSIDE + Unit(self.issue).in_flight))
        m.d.comb += issue.base.eq(self.base)
        for port in range(2):
            join(m, getattr(self, f"input{port}"), getattr(issue, f"input{port}"))
        join(m, issue.output0, writes.i)
        outside(m, writes, self, self.external)
        pass_status(m, issue, self)
        return m


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    permit, data = input_formats(node, netlist)
    return PermittedStore(Issue(data, WriteFormat(8 * netlist.fabric.memory.beat_bytes), permit))


def constants(node: Node, memory: MemoryMap) -> dict[str, int]:
    """Values of the unit's constant ports."""
    return {"base": memory.stores[node.name].base}
