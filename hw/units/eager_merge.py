"""EagerMerge: chunks of all inputs as they come."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from hw.firing.arrival_order import ArrivalOrder, selected
from hw.firing.machine import Firing
from hw.firing.unit import FiringRule, Unit
from hw.links.layout import TokenFormat, cycles_of, input_formats, output_formats
from hw.verilog.modules import Parametric, Shared
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.eager_merge import DATA, SELECTOR
from step.ops.eager_merge import EagerMerge as Operator


@dataclass(frozen=True)
class EagerMerge(FiringRule):
    """A chunk of rank ``rank`` at a time, of the input whose token waits for the longest time.

    What is next is chosen the cycle before it passes: in the last cycle of what passes now, or in a firing of its own.
    An input needs no choice when all others are done.
    """

    data: tuple[TokenFormat, ...]
    selector: TokenFormat
    rank: int

    inputs = property(lambda self: self.data)
    outputs = property(lambda self: (self.data[0], self.selector))

    def fire(self, m: Module, firing: Firing) -> None:
        ports = range(len(self.data))
        idle = Signal(init=1)  # nothing is chosen
        passes = Signal(len(self.data))  # the input whose chunk is next or has begun
        begins = Signal(init=1)  # it is next
        visible = Cat(firing.visible(each) for each in ports)
        done = Cat(firing.visible(each) & firing.head(each).done for each in ports)

        token = Signal(self.data[0].header)
        m.d.comb += token.as_value().eq(selected(passes, [firing.head(each).as_value() for each in ports]))
        if self.data[0].word_bits:
            firing.send(DATA, selected(firing.latched(passes), [firing.word(each) for each in ports]))
        firing.occupy(when=~idle & token.value, cycles=cycles_of(self.data[0], token))
        firing.wait(~(passes & ~visible).any())
        for each in ports:
            with m.If(passes[each] | (~idle & token.done)):
                firing.take(each)
        firing.put(DATA, token, when=~idle)
        control = {"control": passes} if self.selector.control else {}
        firing.put(SELECTOR, when=~idle & begins, done=token.done, value=~token.done, **control)
        firing.finish(~idle & token.done)

        ends, there = Signal(), Signal()
        m.d.comb += ends.eq(idle | (token.stop >= self.rank))
        # behind what passes nothing is seen
        choice, known = self._choice(m, ~done, visible & ~done & ~passes)
        m.d.comb += there.eq(known)
        firing.rest(idle & ~there)
        firing.next(begins, ends)
        with m.If(ends):
            firing.next(idle, ~there)
            firing.next(passes, choice)

    def _choice(self, m: Module, going: Value, waiting: Value) -> tuple[Value, Value]:
        """The input that is next, one-hot, and whether that can be told by now."""
        count = len(self.data)
        if count == 1:
            return Const(1), Const(1)
        m.submodules.order = order = Shared(ArrivalOrder(count))
        m.d.comb += [order.waiting.eq(waiting), order.among.eq(waiting)]
        several = reduce(or_, (going[:each].any() & going[each] for each in range(1, count)))
        nobody = ~going.any()  # the first one's Done stands for all
        return Mux(several, order.first, going | nobody), ~several | waiting.any()


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    assert isinstance(node.operator, Operator)
    selector = output_formats(node, netlist)[SELECTOR]
    return Unit(EagerMerge(input_formats(node, netlist), selector, node.operator.rank))
