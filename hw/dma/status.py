"""StreamStatus: what a fabric says of a run, together with the DMA of its streams."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module
from amaranth.lib.wiring import In, Out

from hw.verilog.modules import Parametric


class StreamStatus(Parametric):
    """Of streams of the units with the numbers ``streams``, and ``sinks`` sinks, in a fabric of ``units`` units.

    ``finished``: the fabric is (``fabric_done``), and so are all sinks. ``fault``, with its unit: the fabric's, or else
    that of the first stream that met one.
    """

    def __init__(self, streams: tuple[int, ...], sinks: int, units: int) -> None:
        self._streams, self._sinks, self._units = streams, sinks, units
        bits = max(1, (units - 1).bit_length())
        members: dict[str, Any] = {f"fault{at}": In(4) for at in range(len(streams))}
        members |= {f"done{at}": In(1) for at in range(sinks)}
        members |= {"fabric_done": In(1), "fabric_fault": In(4), "fabric_fault_unit": In(bits)}
        super().__init__({**members, "finished": Out(1), "fault": Out(4), "fault_unit": Out(bits)})

    @property
    def parameters(self) -> dict[str, Any]:
        return {"streams": self._streams, "sinks": self._sinks, "units": self._units}

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        dones = Cat(getattr(self, f"done{at}") for at in range(self._sinks))
        m.d.comb += self.finished.eq(self.fabric_done & dones.all())
        m.d.sync += [self.fault.eq(self.fabric_fault), self.fault_unit.eq(self.fabric_fault_unit)]
        with m.If(self.fabric_fault == 0):
            for at, unit in reversed(list(enumerate(self._streams))):
                with m.If(getattr(self, f"fault{at}") != 0):
                    m.d.sync += [self.fault.eq(getattr(self, f"fault{at}")), self.fault_unit.eq(unit)]
        return m
