"""Generate: a stream that the program makes itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value

from hw.firing.loop_counters import walk
from hw.firing.machine import Firing
from hw.firing.unit import FiringRule, Unit
from hw.links.layout import TokenFormat, input_formats, output_formats
from hw.links.packing import control_bits, pack_words
from hw.verilog.modules import Parametric
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.generate import Generate as Operator


@dataclass(frozen=True)
class Generate(FiringRule):
    """A value per firing: those ``before``, those for every element of the reference, those ``behind``.

    ``words`` are those of all values in this order, or their control; those between are repeated, ``period`` of them.
    In their place ``integers`` (the first one, the last one and the step) are counted. Without either there are headers
    only.
    """

    reference: TokenFormat | None
    token: TokenFormat
    extents: tuple[int, ...]
    before: int
    period: int
    behind: int
    words: tuple[int, ...]
    integers: tuple[int, int, int] | None

    inputs = property(lambda self: () if self.reference is None else (self.reference,))
    outputs = property(lambda self: (self.token,))

    def fire(self, m: Module, firing: Firing) -> None:
        place = Signal(range(self.before + self.period))  # of the next value, up to those behind
        left = Signal(range(self.behind + 1), init=self.behind)
        begins, between, ending = Signal(), Signal(), Signal()  # of which values the next one is
        m.d.comb += begins.eq(place < self.before)
        walked = walk(m, firing, self.extents, [0] * len(self.extents), when=between)
        ends, level = walked.last, walked.level
        if self.reference is None:  # the end of the outermost dimension is that of the stream
            level = Mux(ends, max(0, len(self.extents) - 1), level)
        reference = self._reference(m, firing, begins, between & ends)
        m.d.comb += [between.eq(~begins & reference.value), ending.eq(~begins & reference.done & (left != 0))]
        last = self.before + self.period - 1
        with m.If(begins | between):
            firing.next(place, Mux(place == last, self.before, place + 1))
        with m.If(ending):
            firing.next(left, left - 1)

        number = Mux(ending, self.before + self.period + self.behind - left, place)
        integer = self._integer(m, firing, between) if self.integers else None
        control = {}
        if self.token.control:
            control = {"control": self._listed(m, number) if integer is None else integer}
        empty = ~begins & (reference.rank != 0)
        firing.put(
            0,
            value=begins | between | ending,
            done=~begins & reference.done & ~ending,
            stop=Mux(between, level + Mux(ends, reference.stop, 0), Mux(empty, reference.stop + len(self.extents), 0)),
            rank=Mux(empty, reference.rank + len(self.extents), 0),
            **control,
        )
        firing.occupy(when=begins | between | ending)
        firing.finish(~begins & reference.done & ~ending)
        if self.reference is not None:
            with m.If(~begins & ~ending & (~between | ends)):
                firing.take(0)
        if self.token.word_bits:
            firing.send(0, self._word(m, firing, number) if integer is None else self._counted(firing, integer))

    def _reference(self, m: Module, firing: Firing, begins: Signal, ends: Value) -> Any:
        """The header that says what comes behind those before; without a reference that of one element, which
        ``ends``, then Done."""
        format = self.reference or replace(self.token, rank=0, items=(), control=False)
        reference = Signal(format.header, name="reference")
        if self.reference is not None:
            with m.If(~begins):
                firing.wait(firing.visible(0))
            m.d.comb += reference.as_value().eq(firing.head(0).as_value())
        else:
            done = Signal(init=0 in self.extents)
            with m.If(ends):
                firing.next(done, 1)
            m.d.comb += [reference.done.eq(done), reference.value.eq(~done)]
        return reference

    def _listed(self, m: Module, number: Value) -> Signal:
        """Entry ``number`` of the words."""
        found = Signal(self.token.bits if self.token.control else self.token.word_bits, name="listed")
        with m.Switch(number):
            for index, word in enumerate(self.words):
                with m.Case(index):
                    m.d.comb += found.eq(word)
        return found

    def _word(self, m: Module, firing: Firing, number: Value) -> Signal:
        """The words of value ``number``, which was sent last."""
        last = firing.latched(number)
        return self._listed(m, last * self.token.words + firing.phase() if self.token.words > 1 else last)

    def _integer(self, m: Module, firing: Firing, steps: Signal) -> Signal:
        """The integer that is next."""
        assert self.integers is not None
        first, last, step = (each & ((1 << self.token.bits) - 1) for each in self.integers)
        integer = Signal(self.token.bits, init=first)
        with m.If(steps):
            firing.next(integer, Mux(integer == last, first, integer + step))
        return integer

    def _counted(self, firing: Firing, integer: Signal) -> Value:
        """The words of the integer that was sent last."""
        word: Value = firing.latched(integer).word_select(firing.phase(), self.token.word_bits)
        return word


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator = node.operator
    assert isinstance(operator, Operator)
    (token,), references = output_formats(node, netlist), input_formats(node, netlist)
    period, integers = 1, None
    words: list[int] = []
    if token.items and isinstance(operator.values, range):
        integers = operator.values[0], operator.values[-1], operator.values.step
    elif token.items:
        period = len(operator.values)
        for each in operator.constants:
            words += [control_bits(each)] if token.control else pack_words(each, operator.element, token)
    before, behind = len(operator.before), len(operator.behind)
    reference = references[0] if references else None
    return Unit(Generate(reference, token, operator.extents, before, period, behind, tuple(words), integers))
