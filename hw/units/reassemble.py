"""Reassemble: gathers chunks from the inputs that selectors name, never interleaved."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from hw.firing.arrival_order import ArrivalOrder, selected
from hw.firing.machine import Firing
from hw.firing.unit import FiringRule, Unit
from hw.links.layout import TokenFormat, cycles_of, input_formats
from hw.verilog.modules import Parametric, Shared
from step.language.faults import Fault
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.reassemble import Reassemble as Operator

HELD = (-1,)
"""A selector is taken with its first choice."""


@dataclass(frozen=True)
class Reassemble(FiringRule):
    """Per selector, a chunk of rank ``rank`` from each selected input: the oldest first, or in the order of inputs.

    What is next is chosen the cycle before it passes: in the last cycle of what passes now, or in a firing of its own.
    With its first choice a selector is taken. Done leaves when the selectors are done; that of the data is taken behind
    it.
    """

    data: tuple[TokenFormat, ...]
    selector: TokenFormat
    rank: int
    by_arrival: bool

    inputs = property(lambda self: (*self.data, self.selector))
    outputs = property(lambda self: (replace(self.data[0], rank=self.rank + 1 + self.selector.rank),))

    def fire(self, m: Module, firing: Firing) -> None:
        count = len(self.data)
        idle = Signal(init=1)  # nothing is chosen
        passes = Signal(count)  # the inputs that are: the one whose chunk is next or has begun, or all with their Done
        nothing = Signal()  # none is: an empty stands for the selector, if it is not Done
        held = Signal(self.selector.header)  # the selector that is taken
        left = Signal(count)  # its inputs that are not chosen yet
        fresh = Signal(init=1)  # there are none
        visible = Cat(firing.visible(each) for each in range(count))

        token = Signal(self.data[0].header)  # the one in front of these; zero if there is none
        m.d.comb += token.as_value().eq(selected(passes, [firing.head(each).as_value() for each in range(count)]))
        which = firing.latched(passes)
        if self.data[0].word_bits:
            firing.send(0, selected(which, [firing.word(each) for each in range(count)]))
        firing.occupy(when=~idle & token.value, cycles=cycles_of(self.data[0], token))
        ends, end = Signal(), self.rank + 1 + held.stop
        m.d.comb += ends.eq(idle | nothing | (token.stop >= self.rank))
        firing.wait(~(passes & ~visible).any())
        over = held.done & passes.any()
        with m.If(~held.done & token.done):
            firing.fault(Fault.MISSING_DATA)
        with m.If(held.done & (passes & ~Cat(firing.head(each).done for each in range(count))).any()):
            firing.fault(Fault.LEFTOVER_DATA)
        for each in range(count):
            with m.If(passes[each]):
                firing.take(each)
        firing.put(
            0,
            token,
            when=~idle & ~over,
            done=held.done,
            stop=Mux(nothing | (ends & fresh & ~held.done), end, token.stop),
            rank=Mux(nothing, self.rank + 1 + held.rank, token.rank),
        )
        firing.finish(over)

        selector = firing.head(count)
        mask = Signal(count)
        there = Signal()
        m.d.comb += mask.eq(Mux(fresh, Mux(selector.value, selector.control, 0), left))
        choice, known = self._choice(m, mask, visible & ~passes)  # behind what passes nothing is seen
        m.d.comb += there.eq(Mux(fresh, firing.visible(count), 1) & known)
        firing.rest(idle & ~there)
        with m.If(held.done):
            firing.next(passes, ~Const(0, count))
        with m.Elif(ends):
            firing.next(idle, ~there)
            firing.next(passes, Mux(there, choice, 0))
            firing.next(nothing, there & (mask == 0) & ~selector.done)
            with m.If(there):
                firing.next(left, mask & ~choice)
                firing.next(fresh, (mask & ~choice) == 0)
                with m.If(fresh):
                    firing.next(held, selector)
                    firing.take(count)

    def _choice(self, m: Module, mask: Value, waiting: Value) -> tuple[Value, Value]:
        """The input in ``mask`` that is next, one-hot, and whether that can be told by now."""
        if not self.by_arrival or len(self.data) == 1:
            return mask & -mask, Const(1)
        count = len(self.data)
        others = Cat(Cat(mask[:each], mask[each + 1 :]).any() for each in range(count))
        m.submodules.order = order = Shared(ArrivalOrder(count))
        m.d.comb += [order.waiting.eq(waiting), order.among.eq(mask)]
        return order.first | (mask & ~others), (mask & waiting).any() | ~others.all()


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator = node.operator
    assert isinstance(operator, Operator)
    *data, selector = input_formats(node, netlist)
    return Unit(Reassemble(tuple(data), selector, operator.rank, operator.order == "arrival"))
