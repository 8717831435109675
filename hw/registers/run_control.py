"""RunControl: start and end of runs, their faults, and the watchdog."""

from __future__ import annotations

import enum
from typing import Any

from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib.wiring import In, Out

from hw.verilog.modules import Parametric
from step.language.faults import Fault
from step.lowering.registers import RUN_BITS, UNIT_BITS


class _State(enum.Enum):
    REST = 0
    DRAINING = 1
    RUNNING = 2
    OVER = 3


class HeldSetting(Parametric):
    """A setting of the run that goes on (``now``), while that of the ``next`` one, which ``takes`` it, is written."""

    def __init__(self, setting_bits: int) -> None:
        super().__init__({"takes": In(1), "next": In(setting_bits), "now": Out(setting_bits)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        with m.If(self.takes):
            m.d.sync += self.now.eq(self.next)
        return m


class RunControl(Parametric):
    """Between registers and the masters' control (`hw.axi.control.MasterControl`).

    ``start`` resets the fabric, waits until nothing of the last run is on its way (``still``), and lets it run until
    it is ``finished`` or meets a fault: it ``begins``. During a run it is ``refused``. ``reset`` ends a run, and keeps
    the fabric in reset until the next start. After ``limit`` cycles in which nothing ``moved`` the watchdog fires, also
    while memory owes answers; 0 is no limit. ``hold`` is up from then to the next start. ``cycles``: those in which the
    fabric was not in reset, until ``finished``.

    ``queue`` begins a run, too. During a run that one is ``queued``: it begins in the cycle behind the end of the first
    one, whose cycles are ``previous`` then; a fault, or a ``reset``, takes it away. ``takes``: a run begins either way.
    ``runs`` counts those that were done.

    ``done``, ``fault_code`` and ``fault_unit`` stay until the next start or reset; those with ``_now`` are up for the
    cycle in which it comes.
    """

    def __init__(self) -> None:
        members = {name: In(1) for name in ("start", "queue", "reset", "still", "fabric_reset", "finished", "moved")}
        members |= {"limit": In(32), "fault": In(4), "unit": In(UNIT_BITS), "memory_fault": In(4)}
        members |= {
            "cycles": Out(64),
            "previous": Out(64),
            "runs": Out(RUN_BITS),
            "fault_code": Out(4),
            "fault_unit": Out(UNIT_BITS),
        }
        members |= {name: Out(1) for name in ("soft_reset", "hold", "done", "idle", "busy", "draining", "faulty")}
        told = ("memory_waits", "done_now", "fault_now", "watchdog_now", "refused", "queued", "begins", "takes")
        super().__init__(members | {name: Out(1) for name in told})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        state = Signal(_State)
        left = Signal(32)
        late = Signal()
        follows = Signal()
        m.d.comb += [
            self.busy.eq((state == _State.DRAINING) | (state == _State.RUNNING)),
            self.idle.eq(~self.busy & self.still),
            self.draining.eq((state == _State.DRAINING) | ((state == _State.REST) & ~self.still)),
            self.soft_reset.eq((state == _State.REST) | (state == _State.DRAINING)),
            self.refused.eq((self.start & (self.busy | self.queued)) | (self.queue & self.queued)),
            self.faulty.eq(self.fault_code.any()),
            self.begins.eq(self.start & ~self.busy & ~self.queued & ~self.reset),
            follows.eq((self.queue | self.queued) & ~self.busy & ~self.faulty & ~self.reset),
            self.takes.eq(self.begins | follows),
            late.eq(self.busy & self.limit.any() & (left == 0) & ~self.moved),
        ]
        with m.If(~self.busy | self.moved):
            m.d.sync += left.eq(self.limit)
        with m.Else():
            m.d.sync += left.eq(left - 1)
        with m.Switch(state):
            with m.Case(_State.DRAINING):
                with m.If(self.fabric_reset & self.still):
                    m.d.sync += state.eq(_State.RUNNING)
                with m.Elif(late):
                    self._time_out(m, state, _State.REST)
            with m.Case(_State.RUNNING):
                with m.If(~self.fabric_reset):
                    m.d.sync += self.cycles.eq(self.cycles + 1)
                with m.If((self.fault | self.memory_fault).any()):
                    m.d.comb += self.fault_now.eq(1)
                    m.d.sync += state.eq(_State.OVER)
                    with m.If(self.memory_fault.any()):
                        m.d.sync += self.fault_code.eq(self.memory_fault)
                    with m.Else():
                        m.d.sync += [self.fault_code.eq(self.fault), self.fault_unit.eq(self.unit)]
                with m.Elif(self.finished):
                    m.d.comb += self.done_now.eq(1)
                    m.d.sync += [state.eq(_State.OVER), self.done.eq(1), self.runs.eq(self.runs + 1)]
                with m.Elif(late):
                    self._time_out(m, state, _State.OVER)
        m.d.sync += self.queued.eq((self.queue | self.queued) & self.busy & ~self.reset)
        with m.If(self.reset | self.takes):
            m.d.sync += [state.eq(_State.REST), self.done.eq(0), self.hold.eq(0), self.memory_waits.eq(0)]
            m.d.sync += [self.fault_code.eq(0), self.fault_unit.eq(0), self.cycles.eq(0)]
            m.d.sync += self.previous.eq(self.cycles)
            with m.If(self.takes):
                m.d.sync += state.eq(_State.DRAINING)
        return m

    def _time_out(self, m: Module, state: Signal, after: _State) -> None:
        """The watchdog fires. A fabric that memory does not let go stays in reset, or it would run without a start."""
        m.d.comb += self.watchdog_now.eq(1)
        m.d.sync += [state.eq(after), self.fault_code.eq(Fault.NO_MOVEMENT)]
        m.d.sync += [self.hold.eq(1), self.memory_waits.eq(~self.still)]
