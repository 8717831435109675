"""Two machines, one behind the other, as one unit."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module
from amaranth.lib.wiring import In, Out

from hw.firing.unit import STATUS, Unit, join, pass_status
from hw.links.channel import ChannelFifo, ConsumerSignature, ProducerSignature
from hw.verilog.modules import Parametric, Shared


class UnitPair(Parametric):
    """The machine ``first``, the one ``then``, and a channel of so many ``slots`` between."""

    def __init__(self, first: Unit, then: Unit, slots: int) -> None:
        self.first, self.then, self.slots = first, then, slots
        source, result = first.rule.inputs[0], then.rule.outputs[0]
        super().__init__({"input0": In(ConsumerSignature(source)), "output0": Out(ProducerSignature(result)), **STATUS})
        self.parameters = {"first": first, "then": then}
        self.longest_pause = first.longest_pause + then.longest_pause

    def spare(self, port: int) -> int:
        """Spare slots, see `Unit.spare`."""
        return self.first.spare(port)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.first = first = Shared(self.first)
        m.submodules.then = then = Shared(self.then)
        fifo = ChannelFifo(self.then.rule.inputs[0], self.slots, self.then.spare(0))
        m.submodules.between = between = Shared(fifo)
        join(m, self.input0, first.input0)
        join(m, first.output0, between.i)
        join(m, between.o, then.input0)
        join(m, then.output0, self.output0)
        self.connect(m, first, then)
        return m

    def connect(self, m: Module, first: Any, then: Any) -> None:
        """Other signals that join the two; the unit is as busy as the ``first``."""
        pass_status(m, first, self)
