"""Status of the whole program in its top module: whether it is over, and who met a fault."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.primitives.timing import registered
from hw.verilog.modules import Parametric

DEEPEST = 300
"""Operators one in the other: some more are too deep for Python, in which Amaranth goes through them."""


class ProgramStatus(Parametric):
    """Gathers the status of ``units`` units, two cycles later.

    ``done``: all of the ``enders`` units whose end is the program's have handled Done. ``fault`` and ``fault_unit``
    are the code and the number of the first unit, in the program's order, of those that met a fault; 0 without one.
    Units that are ``far`` have registers in front of it, and faults of theirs take three cycles more.
    """

    def __init__(self, units: int, enders: int, *, far: bool = False) -> None:
        self._units, self._enders, self._far = units, enders, far
        ports: dict[str, Any] = {f"fault{unit}": In(4) for unit in range(units)}
        ports |= {f"finished{ender}": In(1) for ender in range(enders)}
        ports |= {"done": Out(1), "fault": Out(4), "fault_unit": Out(max(1, (units - 1).bit_length()))}
        super().__init__(ports)
        self.parameters = {"units": units, "enders": enders, **({"far": True} if far else {})}

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        codes = [getattr(self, f"fault{unit}") for unit in range(self._units)]
        finished = Signal(self._enders)
        stopped = Signal(self._units)  # a unit that stopped keeps its code
        first = Signal(self._units)  # one bit at most
        m.d.sync += finished.eq(Cat(getattr(self, f"finished{ender}") for ender in range(self._enders)))
        if self._far:
            codes = [registered(m, code, f"code{unit}") for unit, code in enumerate(codes)]
        m.d.sync += stopped.eq(Cat(code.any() for code in codes))
        domain = m.d.sync if self._far else m.d.comb
        domain += first.eq(stopped & -stopped)
        m.d.sync += [
            self.done.eq(finished.all()),
            self.fault.eq(_any(Mux(first[unit], code, 0) for unit, code in enumerate(codes))),
            self.fault_unit.eq(_any(Mux(first[unit], unit, 0) for unit in range(self._units))),
        ]
        return m


def _any(values: Iterable[Value]) -> Value:
    """All of ``values``, or-ed: so many at a time as Amaranth can have one in the other."""
    found = list(values)
    while len(found) > DEEPEST:
        found = [_any(found[at : at + DEEPEST]) for at in range(0, len(found), DEEPEST)]
    return reduce(or_, found, Const(0))
