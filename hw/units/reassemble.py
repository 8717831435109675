"""Reassemble: gathers chunks from the inputs that selectors name, never interleaved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from hw.layout import Format, TokenFormat
from hw.shared import Parametric
from hw.unit import Firing, Rule, Unit
from step.language.faults import Fault
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.reassemble import Reassemble as Operator

AGE_BITS = 16
"""Ages saturate: a token that has waited longer is as old as any other that has."""


@dataclass(frozen=True)
class Reassemble(Rule):
    """Per selector, a chunk of rank ``rank`` from each selected input: the oldest first, or in the order of inputs."""

    data: tuple[TokenFormat, ...]
    selector: TokenFormat
    rank: int
    by_arrival: bool

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (*self.data, self.selector)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (replace(self.data[0], rank=self.rank + 1 + self.selector.rank),)

    def fire(self, m: Module, firing: Firing) -> None:
        count = len(self.data)
        selector = firing.need(count)
        fresh = Signal(init=1)  # the selector's first chunk has not ended yet
        left = Signal(count)  # the inputs that are still to come, if not fresh
        inside = Signal()  # a chunk of input `current` is open
        current = Signal(count)  # one-hot
        mask, port = Signal(count), Signal(count)
        m.d.comb += mask.eq(Mux(fresh, selector.control, left))
        m.d.comb += port.eq(Mux(inside, current, self._choice(m, firing, mask)))
        self._gather(m, firing, firing.lagging(port))
        end = self.rank + 1 + selector.stop
        with m.If(selector.done):
            for each in range(count):
                firing.need(each)
                firing.take(each)
            with m.If(~Cat(firing.head(each).done for each in range(count)).all()):
                firing.fault(Fault.LEFTOVER_DATA)
            firing.put(0, done=1)
            firing.take(count)
            firing.finish()
        with m.Elif(~selector.value | (mask == 0)):
            firing.put(0, stop=end, rank=self.rank + 1 + selector.rank)
            firing.take(count)
        with m.Else():
            token = self._head(m, firing, port)
            ends, last = token.stop >= self.rank, (mask & ~port) == 0
            firing.wait((port & Cat(firing.visible(each) for each in range(count))).any())
            with m.If(token.done):
                firing.fault(Fault.MISSING_DATA)
            firing.put(0, token, stop=Mux(ends & last, end, token.stop))
            for each in range(count):
                with m.If(port[each]):
                    firing.take(each)
            firing.next(inside, ~ends)
            firing.next(current, port)
            with m.If(ends):
                firing.next(left, mask & ~port)
                firing.next(fresh, last)
                with m.If(last):
                    firing.take(count)

    def _head(self, m: Module, firing: Firing, port: Signal) -> Any:
        """The header in front of the input that ``port`` names."""
        token = Signal(self.data[0].header)
        for each in range(len(self.data)):
            with m.If(port[each]):
                m.d.comb += token.eq(firing.head(each))
        return token

    def _gather(self, m: Module, firing: Firing, port: Signal) -> None:
        """Send the data of the input that ``port`` names."""
        if self.data[0].data_bits:
            word = Signal(self.data[0].data_bits)
            for each in range(len(self.data)):
                with m.If(port[each]):
                    m.d.comb += word.eq(firing.word(each))
            firing.send(0, word)

    def _choice(self, m: Module, firing: Firing, mask: Signal) -> Value:
        """Which of the inputs in ``mask`` comes next, one-hot; by arrival only if it is there."""
        candidates = mask
        if self.by_arrival:
            there = mask & Cat(firing.visible(port) for port in range(len(self.data)))
            candidates = self._oldest(m, there, [self._age(m, firing, port) for port in range(len(self.data))])
        choice = Signal(len(self.data))
        m.d.comb += choice.eq(candidates & -candidates)
        return choice

    def _age(self, m: Module, firing: Firing, port: int) -> Signal:
        """Cycles for which the token in front of input ``port`` could have been read already."""
        age = Signal(AGE_BITS, name=f"age{port}")
        with m.If(~firing.visible(port) | firing.takes(port)):
            m.d.sync += age.eq(0)
        with m.Elif(~age.all()):
            m.d.sync += age.eq(age + 1)
        return age

    def _oldest(self, m: Module, there: Value, ages: list[Signal]) -> Signal:
        """Those in ``there`` whose age is the greatest."""
        greatest: Value = Signal(AGE_BITS)
        for port, age in enumerate(ages):
            older = Signal(AGE_BITS, name=f"older{port}")
            m.d.comb += older.eq(Mux(there[port] & (age > greatest), age, greatest))
            greatest = older
        oldest = Signal(len(ages))
        m.d.comb += oldest.eq(there & Cat(age == greatest for age in ages))
        return oldest


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator = node.operator
    assert isinstance(operator, Operator)
    *data, selector = (TokenFormat.of(each.type) for each in node.inputs)
    return Unit(Reassemble(tuple(data), selector, operator.rank, operator.order == "arrival"))
