"""Scan: a datapath that reduces, of which every state leaves."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value

from hw.firing.machine import Firing
from hw.functions import datapath_of
from hw.links.layout import input_formats, output_formats
from hw.links.packing import pack_element, pack_words
from hw.primitives.timing import loop_store, word_window
from hw.units.function_rule import FunctionRule
from hw.verilog.modules import Parametric
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.scan import Scan as Operator


@dataclass(frozen=True)
class Scan(FunctionRule):
    """Starts ``datapath`` on every value, and sends the state; a stop >= ``rank`` begins a new reduction.

    ``before``: where given, the words of the initial state (or its control), and every token gets the state before
    its element. That goes out while the new one comes in its place.
    """

    rank: int
    before: tuple[int, ...] | None

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need_aligned()
        fresh = Signal(init=1)  # a reduction begins
        rows = self.rows(m, firing, token)
        self.state_rows(m, firing, token, fresh, rows)
        firing.put(0, done=token.done, value=token.value, stop=token.stop, rank=token.rank, **self.field(rows))
        ends = token.stop >= self.rank
        with m.If(token.value | ends):
            firing.next(fresh, ends)
        for port in range(len(self.operands)):
            firing.take(port)
        firing.finish(token.done)
        firing.occupy(when=token.value, cycles=self.pace(rows).initiation_interval)
        if self.datapath is not None:
            datapath = self.start(m, firing, token.value, rows)
            self.stamp(m, firing, datapath, rows)
            m.d.comb += datapath.first.eq(firing.latched(fresh))
            if self.datapath.streams:
                m.d.comb += datapath.emit.eq(firing.fired(token.value))
            word = self.result_words(m, firing, datapath.result, token.value)
            if self.before is not None:
                word = self._one_behind(m, firing, word, token.value, fresh)
            self.send_words(firing, word)

    def _one_behind(self, m: Module, firing: Firing, word: Value, value: Value, fresh: Value) -> Value:
        """The ``word`` of the element before, or the initial state where a reduction begins."""
        assert self.before is not None
        now = Cat(firing.fires & value, fresh)
        if not self.result.control:
            now = Cat(firing.fired(value), firing.registered(fresh))
        begins, first = firing.delayed(now)
        number, (comes,) = word_window(m, begins, [self.result.cycles])
        held = Signal(reset_less=True)
        with m.If(begins):
            m.d.sync += held.eq(first)
        initial = Array(Const(each, len(word)) for each in self.before)[number]
        return Mux(Mux(begins, first, held), initial, loop_store(m, self.result.cycles, number, comes, word))


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator, element = node.operator, node.output_types[0].element
    assert isinstance(operator, Operator)
    (result,), before = output_formats(node, netlist), None
    if operator.exclusive and result.items:
        initial = operator.function.initial(element)
        packed = [pack_element(initial, element)] if result.control else pack_words(initial, element, result)
        before = tuple(packed)
    rule = Scan(
        operands=input_formats(node, netlist),
        result=result,
        datapath=datapath_of(node, operator.function, netlist, reduce=True) if result.items else None,
        rank=operator.rank,
        before=before,
    )
    return rule.unit(node, netlist)
