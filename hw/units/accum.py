"""Accum: a datapath that reduces, and hands out its state at stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from hw.firing.machine import Firing
from hw.functions import datapath_of
from hw.links.layout import input_formats, output_formats
from hw.links.packing import pack_element
from hw.units.function_rule import FunctionRule
from hw.verilog.modules import Parametric
from step.language.dims import product
from step.language.faults import Fault
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.accum import Accum as Operator


@dataclass(frozen=True)
class Accum(FunctionRule):
    """Starts ``datapath`` on every value; a stop >= ``rank`` sends the state, or ``initial`` if nothing was reduced.

    An empty of a rank above ``rank`` is no reduction, and stays an empty.

    ``count``: where given, how many values every reduction must have. ``joins``: where given, the most rows of a state
    that joins those of its elements, fewer than its format has. ``distinct``: where it is not 0, elements are indices
    below it, and those of a reduction differ.
    """

    rank: int
    initial: int
    count: int | None
    joins: int | None = None
    distinct: int = 0

    stored = True

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need_aligned()
        counted = None if self.count is None else self._counted(m, firing, token)
        fresh = Signal(init=1)  # nothing was reduced since the last emission
        outside, ends = token.rank > self.rank, token.stop >= self.rank
        more = self.rows(m, firing, token)
        rows = self.state_rows(m, firing, token, fresh, more, self.joins)
        puts = Signal()
        value = Signal()
        m.d.comb += [puts.eq(ends | token.done), value.eq(~(outside | token.done))]
        self._put(firing, token, puts, value, rows)
        if counted is not None:
            with m.If(ends & ~outside & (counted != self.count)):
                firing.fault(Fault.WRONG_COUNT)
        if self.distinct:
            self._check_indices(m, firing, token, ends)
        with m.If(token.value | ends):
            firing.next(fresh, ends)
        firing.finish(token.done)
        for port in range(len(self.operands)):
            firing.take(port)
        emits = puts & value
        if self.keeps_rows:  # a state takes its time, with an element or not
            firing.occupy(when=token.value | emits, cycles=self.pace(rows).initiation_interval)
        else:
            firing.occupy(when=token.value, cycles=self.pace(more).initiation_interval)
        firing.reserve(0, when=emits, cycles=self.pace(rows).burst)
        if self.datapath is not None:
            self._compute(m, firing, token.value, fresh, emits, more, rows)

    def _put(self, firing: Firing, token: Any, puts: Value, value: Value, rows: Any) -> None:
        """The header of what leaves: a state, an empty outside of reductions, or Done."""
        firing.put(
            0,
            when=puts,
            done=token.done,
            value=value,
            stop=Mux(token.done, 0, token.stop - self.rank),
            rank=Mux(token.rank > self.rank, token.rank - self.rank, 0),
            **self.field(rows),
        )

    def _counted(self, m: Module, firing: Firing, token: Any) -> Signal:
        """Values of the reduction, with this one; saturates above ``count``."""
        assert self.count is not None
        before = Signal(range(self.count + 2))
        counted = Signal(range(self.count + 2))
        m.d.comb += counted.eq(Mux(token.value & (before <= self.count), before + 1, before))
        firing.next(before, Mux(token.stop >= self.rank, 0, counted))
        return counted

    def _check_indices(self, m: Module, firing: Firing, token: Any, ends: Value) -> None:
        """A fault where the index in front is too large, or came before in this reduction."""
        seen, index = Signal(self.distinct), firing.head(0).control
        place = index[: max(1, (self.distinct - 1).bit_length())]
        target = Signal(self.distinct, name="target")
        m.d.comb += target.eq(Mux(token.value, Cat(place == at for at in range(self.distinct)), 0))
        with m.If(token.value & ((index >= self.distinct) | (seen & target).any())):
            firing.fault(Fault.OUT_OF_RANGE)
        firing.next(seen, Mux(ends, 0, seen | target))

    def _compute(
        self, m: Module, firing: Firing, value: Value, fresh: Signal, puts: Value, more: Any, rows: Any
    ) -> None:
        """Send what leaves: with a ``value`` the datapath's state, else the initial one or what was left before.

        A state of dynamic size has so many ``rows``, of which the element of this firing has ``more``.
        """
        datapath = self.start(m, firing, value, more)
        self.stamp(m, firing, datapath, rows)
        first = firing.latched(fresh)
        m.d.comb += datapath.first.eq(first)
        if self.datapath is not None and self.datapath.streams:
            m.d.comb += datapath.emit.eq(firing.fired(puts))
            self.send_result(m, firing, datapath.result, puts)
            return
        state: Value = Const(self.initial, self.result.bits)
        arrives = firing.delayed(firing.fired(value))
        if self.rank > 1:  # an empty may end a reduction that has had values
            left = Signal(self.result.bits, reset_less=True)
            with m.If(arrives):
                m.d.sync += left.eq(datapath.result)
            state = Mux(firing.delayed(first), state, left)
        self.send_result(m, firing, Mux(arrives, datapath.result, state), puts)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator = node.operator
    assert isinstance(operator, Operator)
    function, result = operator.function, node.output_types[0]
    initial = function.initial(result.element)
    whole = result.element.accepts(initial)  # else the result is only right after the promised number of values
    (format,) = output_formats(node, netlist)
    rule = Accum(
        operands=input_formats(node, netlist),
        result=format,
        rank=operator.rank,
        datapath=datapath_of(node, function, netlist, reduce=True) if format.items else None,
        initial=pack_element(initial, result.element) if whole else 0,
        count=None if whole else int(product(node.inputs[0].shape[-operator.rank :])),
        joins=netlist.most_rows.get(node.name),
        distinct=operator.distinct,
    )
    return rule.unit(node, netlist)
