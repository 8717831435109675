"""What the top module says of the whole program: whether it is over, and who met a fault."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Elaboratable, Module, Signal
from amaranth.lib.wiring import In, Out

from hw.shared import Parametric


class ProgramStatus(Parametric):
    """Gathers the status of ``units`` units, two cycles later.

    ``done``: all of the ``enders`` units whose end is the program's have handled Done. ``fault`` and ``fault_unit``
    are the code and the number of the first unit, in the program's order, of those that met a fault; 0 without one.
    """

    def __init__(self, units: int, enders: int) -> None:
        self._units, self._enders = units, enders
        ports: dict[str, Any] = {f"fault{unit}": In(4) for unit in range(units)}
        ports |= {f"finished{ender}": In(1) for ender in range(enders)}
        super().__init__(
            {**ports, "done": Out(1), "fault": Out(4), "fault_unit": Out(max(1, (units - 1).bit_length()))}
        )

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self._units, self._enders

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        codes = [getattr(self, f"fault{unit}") for unit in range(self._units)]
        finished = Signal(self._enders)
        stopped = Signal(self._units)  # a unit that stopped keeps its code
        m.d.sync += finished.eq(Cat(getattr(self, f"finished{ender}") for ender in range(self._enders)))
        m.d.sync += stopped.eq(Cat(code.any() for code in codes))
        m.d.sync += self.done.eq(finished.all())
        first = Signal.like(self.fault_unit)
        for unit in reversed(range(self._units)):
            with m.If(stopped[unit]):
                m.d.comb += first.eq(unit)
        m.d.sync += self.fault_unit.eq(first)
        if codes:
            m.d.sync += self.fault.eq(Array(codes)[first])
        return m
