"""Waits: who waits for whom, at a moment that stays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import Array, Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.verilog.modules import Parametric
from step.lowering.registers import UNIT_BITS
from step.running.result import Activity


class WaitReport(Parametric):
    """Waits of ``units`` units and of ``channels``, from unit to unit each; ``fillers`` of the units have buffers.

    ``moved``: a token entered a channel one cycle before. While ``hold`` is up, the rest shows what was when it rose.
    ``activity`` is that of unit ``index``. Channel ``index``: whether its reader is ``starved`` and it is empty, or its
    writer is ``blocked`` and it is full (`step.running.deadlock.find_waits`); ``unit`` waits for the unit ``awaited``.
    A writer of buffers is also blocked where one of its buffers is not read.
    """

    verilog_name = "Waits"
    verilog_folder = "registers"

    def __init__(self, units: int, channels: tuple[tuple[int, int], ...], fillers: tuple[int, ...]) -> None:
        self._units, self._channels, self._fillers = units, channels, fillers
        members: dict[str, Any] = {f"activity{at}": In(2) for at in range(units)}
        for at in range(len(channels)):
            members |= {f"{name}{at}": In(1) for name in ("enter", "space", "present")}
        members |= {"hold": In(1), "index": In(UNIT_BITS), "moved": Out(1), "activity": Out(2)}
        members |= {"starved": Out(1), "blocked": Out(1), "unit": Out(UNIT_BITS), "awaited": Out(UNIT_BITS)}
        super().__init__(members)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        every = range(len(self._channels))
        activities = [getattr(self, f"activity{at}") for at in range(self._units)]
        units = Signal(2 * self._units)
        starved = Signal(len(every))
        blocked = Signal(len(every))
        m.d.sync += self.moved.eq(Cat(getattr(self, f"enter{at}") for at in every).any())
        full = [
            ~getattr(self, f"space{at}") | (getattr(self, f"present{at}") if at in self._fillers else 0) for at in every
        ]
        with m.If(~self.hold):
            m.d.sync += units.eq(Cat(activities))
            for at, (writer, reader) in enumerate(self._channels):
                m.d.sync += [
                    starved[at].eq((activities[reader] == Activity.STARVED) & ~getattr(self, f"present{at}")),
                    blocked[at].eq((activities[writer] == Activity.BLOCKED) & full[at]),
                ]
        writers, readers = (_entry(self.index, [each[end] for each in self._channels]) for end in (0, 1))
        m.d.comb += [
            self.activity.eq(units.word_select(self.index, 2)),
            self.starved.eq(starved.bit_select(self.index, 1)),
            self.blocked.eq(blocked.bit_select(self.index, 1)),
            self.unit.eq(Mux(self.starved, readers, writers)),
            self.awaited.eq(Mux(self.starved, writers, readers)),
        ]
        return m


def _entry(index: Value, table: Iterable[int]) -> Value:
    return Array(Const(each, UNIT_BITS) for each in (*table, 0))[index]
