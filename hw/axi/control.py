"""Control of masters: a reset of the fabric that waits for memory, and what is said of all masters together."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Elaboratable, Module, ResetSignal, Signal
from amaranth.lib.wiring import In, Out

from hw.verilog.modules import Parametric


class MasterControl(Parametric):
    """Numbers of ``masters``: those that read and those that write counted apart.

    ``soft_reset`` puts the fabric into reset (``fabric_reset``) until all masters are idle: then nothing is left of
    what it asked for. ``still``: they all are; ``idle``: the fabric is not in reset besides. ``done``: the fabric is
    (``finished``), and all that it wrote is visible. ``memory_fault``, with its port and byte address: the error of
    the first of the masters that met one; the fabric's reset clears it.
    """

    def __init__(self, masters: int) -> None:
        self._masters = masters
        members: dict[str, Any] = {}
        for at in range(masters):
            members |= {f"idle{at}": In(1), f"fault{at}": In(4), f"port{at}": In(8), f"address{at}": In(64)}
        members |= {"soft_reset": In(1), "finished": In(1)}
        members |= {each: Out(1) for each in ("fabric_reset", "idle", "still", "done")}
        members |= {"memory_fault": Out(4), "memory_fault_port": Out(8), "memory_fault_address": Out(64)}
        super().__init__(members)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        every = range(self._masters)
        still = self.still
        chosen = Signal(range(self._masters))
        held = Signal(init=1)
        faults = Array(getattr(self, f"fault{at}") for at in every)
        m.d.comb += still.eq(Cat(getattr(self, f"idle{at}") for at in every).all())
        m.d.comb += self.fabric_reset.eq(ResetSignal() | held)
        m.d.sync += [
            held.eq(self.soft_reset | (held & ~still)),
            self.idle.eq(still & ~self.soft_reset & ~held),
            self.done.eq(self.finished & still & ~self.soft_reset & ~held),
        ]
        with m.If(self.memory_fault == 0):
            for at in reversed(every):
                with m.If(faults[at] != 0):
                    m.d.comb += chosen.eq(at)
            m.d.sync += [
                self.memory_fault.eq(faults[chosen]),
                self.memory_fault_port.eq(Array(getattr(self, f"port{at}") for at in every)[chosen]),
                self.memory_fault_address.eq(Array(getattr(self, f"address{at}") for at in every)[chosen]),
            ]
        with m.If(held):
            m.d.sync += self.memory_fault.eq(0)
        return m
