"""RunStatus: what a fabric says of a run, together with what is around it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module
from amaranth.lib.wiring import In, Out

from hw.verilog.modules import Parametric


class RunStatus(Parametric):
    """Status of a fabric of ``units`` units. ``watched``: numbers of those of which something outside may say a fault.

    ``finished``: the fabric is (``fabric_done``), and so are as many ``sinks`` as DMA has. ``fault``, with its unit:
    the fabric's, or else that of the first one outside.
    """

    def __init__(self, watched: tuple[int, ...], sinks: int, units: int) -> None:
        self._watched, self._sinks, self._units = watched, sinks, units
        bits = max(1, (units - 1).bit_length())
        members: dict[str, Any] = {f"fault{at}": In(4) for at in range(len(watched))}
        members |= {f"done{at}": In(1) for at in range(sinks)}
        members |= {"fabric_done": In(1), "fabric_fault": In(4), "fabric_fault_unit": In(bits)}
        super().__init__({**members, "finished": Out(1), "fault": Out(4), "fault_unit": Out(bits)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        dones = Cat(getattr(self, f"done{at}") for at in range(self._sinks))
        m.d.comb += self.finished.eq(self.fabric_done & dones.all())
        m.d.sync += [self.fault.eq(self.fabric_fault), self.fault_unit.eq(self.fabric_fault_unit)]
        with m.If(self.fabric_fault == 0):
            for at, unit in reversed(list(enumerate(self._watched))):
                with m.If(getattr(self, f"fault{at}") != 0):
                    m.d.sync += [self.fault.eq(getattr(self, f"fault{at}")), self.fault_unit.eq(unit)]
        return m
