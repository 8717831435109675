"""Common part of rules that start a datapath."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value

from hw.firing.machine import Firing
from hw.firing.unit import FiringRule, Unit
from hw.functions.datapath import Datapath
from hw.links.layout import DynamicFormat, TokenFormat
from hw.links.words import in_words, whole
from hw.primitives.timing import delayed
from hw.verilog.modules import Shared
from step.language.faults import Fault
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.lowering.plans.plan import UnitPlan
from step.lowering.plans.rows import largest


@dataclass(frozen=True)
class FunctionRule(FiringRule):
    """A rule whose values go through ``datapath``, and that takes as long as this does.

    Unless the datapath takes words as they come, they are gathered; it starts with the last one, and its result goes
    out word by word. A result that is control goes into the header, which waits for it. Where nobody reads it, there
    is no datapath, and only control passes.

    Tiles of dynamic size take as long as their rows do (`pace`); one without rows starts nothing.
    """

    operands: tuple[TokenFormat, ...]
    result: TokenFormat
    datapath: Datapath | None

    stored = False
    """Results leave a store (see `UnitPlan`)."""

    @property
    def plan(self) -> UnitPlan:
        """Cycles of a firing; of tiles of dynamic size those with the most rows."""
        operands = tuple(each.cycles for each in self.operands)
        function = None if self.datapath is None else self.datapath.plan
        return UnitPlan(function, operands, self.result.cycles, self.result.control, self.stored)

    @property
    def most_rows(self) -> int:
        """Most rows of tiles of dynamic size; 0: there are none."""
        return self.result.most_rows

    def pace(self, rows: Any) -> UnitPlan:
        """Cycles of a firing with tiles of so many ``rows``, where these are dynamic."""
        if not self.most_rows:
            return self.plan
        assert self.datapath is not None
        operands = tuple(each.words_of(rows) for each in self.operands)
        return UnitPlan(self.datapath.plan.at(rows), operands, self.result.words_of(rows), stored=self.stored)

    @property
    def is_stamped(self) -> bool:
        """Whether the latency of a result follows from its rows."""
        return not isinstance(self.pace(Signal(range(self.most_rows + 1))).latency, int)

    def rows(self, m: Module, firing: Firing, token: Any) -> Any:
        """The rows of the operands of a firing with ``token``: 0 where it has no value, or they are static."""
        ports = [port for port, each in enumerate(self.operands) if isinstance(each, DynamicFormat)]
        if not ports:
            return 0
        rows = Signal(range(self.most_rows + 1), name="rows")
        m.d.comb += rows.eq(Mux(token.value, firing.head(ports[0]).rows, 0))
        return rows

    @property
    def keeps_rows(self) -> bool:
        """Whether a state has the dynamic number of rows that its elements have, and not that of all together."""
        return self.most_rows > 0 and not getattr(self.datapath, "adds_rows", False)

    def state_rows(
        self, m: Module, firing: Firing, token: Any, fresh: Signal, more: Any, most: int | None = None
    ) -> Any:
        """The rows of the state, with the ``more`` rows of this firing's element; 0 where they are static.

        Where the state keeps the rows of its elements, all of these must have as many; else it may have ``most``.
        """
        if not isinstance(self.result, DynamicFormat):
            return 0
        before, rows = Signal(range(self.most_rows + 1)), Signal(range(2 * self.most_rows + 1), name="state_rows")
        firing.next(before, rows)
        if self.keeps_rows:
            m.d.comb += rows.eq(Mux(token.value, more, Mux(fresh, 0, before)))
            with m.If(token.value & ~fresh & (more != before)):
                firing.fault(Fault.STOPS_DISAGREE)
            return rows[: len(before)]
        if isinstance(more, int):
            more = Mux(token.value, self.operands[0].bits // self.result.row_bits, 0)
        m.d.comb += rows.eq(Mux(fresh, 0, before) + more)
        with m.If(token.value & (rows > (self.most_rows if most is None else most))):
            firing.fault(Fault.TOO_MANY_ROWS)
        return rows[: len(before)]

    def field(self, rows: Any) -> dict[str, Any]:
        """Field of the header of a result with so many ``rows``."""
        return {"rows": rows} if self.most_rows else {}

    def unit(self, node: Node, netlist: Netlist) -> Unit:
        """The unit of ``node`` with this rule."""
        (behind,) = netlist.outputs(node)
        return Unit(self, behind.depth if behind and self.is_stamped else 0)

    initiation_interval = property(lambda self: self.plan.initiation_interval)
    latency = property(lambda self: self.plan.latency)
    burst = property(lambda self: self.plan.burst)
    inputs = property(lambda self: self.operands)
    outputs = property(lambda self: (self.result,))

    def start(self, m: Module, firing: Firing, value: Value, rows: Any = 0) -> Shared:
        """The datapath, which starts on the operands of a firing with a ``value``, of so many ``rows``."""
        assert self.datapath is not None
        m.submodules.datapath = datapath = Shared(self.datapath)
        if self.datapath.streams:
            m.d.comb += datapath.start.eq(firing.fired(value))
            if not isinstance(rows, int):
                m.d.comb += datapath.start.eq(firing.fired(value & (rows != 0)))
                m.d.comb += datapath.rows.eq(firing.registered(rows))
            for port, format in enumerate(self.operands):
                if format.items:
                    m.d.comb += getattr(datapath, f"operand{port}").eq(firing.word(port))
            return datapath
        phase, gathers, final = firing.phase(), Signal(), self.plan.gathering
        last = gathers & (phase == final)
        with m.If(firing.fires & value):
            m.d.sync += gathers.eq(1)
        with m.Elif(last):
            m.d.sync += gathers.eq(0)
        m.d.comb += datapath.start.eq(last)
        for port, format in enumerate(self.operands):
            operand = getattr(datapath, f"operand{port}")
            if format.control:
                m.d.comb += operand.eq(firing.word(port))
            elif format.word_bits:
                m.d.comb += operand.eq(
                    whole(m, f"operand{port}", firing.word(port), phase, format, self.plan.gathering)
                )
        return datapath

    def stamp(self, m: Module, firing: Firing, datapath: Shared, rows: Any) -> None:
        """Tell the ``datapath`` when a result of so many ``rows`` leaves, where that is a time of its own."""
        pace = self.pace(rows)
        if not isinstance(pace.latency, int):
            enters = firing.stamp(0, pace.latency, largest(1, pace.result))
            assert self.datapath is not None
            m.d.comb += datapath.leave.eq(delayed(m, enters, 1 - self.datapath.leaves_early, "leave"))

    def send_result(self, m: Module, firing: Firing, result: Value, puts: Value) -> None:
        """``result`` is what became of the operands of a firing that ``puts`` a value, as late as this enters."""
        self.send_words(firing, self.result_words(m, firing, result, puts))

    def result_words(self, m: Module, firing: Firing, result: Value, puts: Value) -> Value:
        """Such a ``result`` word by word, or as control."""
        if self.result.control or (self.datapath is not None and self.datapath.streams):
            return result
        return in_words(m, result, firing.delayed(firing.fired(puts)), self.result)

    def send_words(self, firing: Firing, word: Value) -> None:
        """The words of what goes out, or its control."""
        if self.result.control:
            firing.complete(0, control=word)
        else:
            firing.send(0, word)
