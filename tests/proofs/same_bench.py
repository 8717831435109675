"""A unit written by hand and the translation of its rule, side by side: the same in every cycle."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Cat, Module, Mux, Value
from unit_bench import UnitBench, equal

from hw.firing.rule import FiringRule
from hw.firing.unit import Unit
from hw.rules.unit import Translated
from step.firing.declared import Declared


def translated(hand: FiringRule, declared: Declared) -> Translated:
    """What is ``declared``, between the inputs and outputs of ``hand``."""
    reads: Any = hand.inputs
    writes: Any = hand.outputs
    return Translated.of(declared, tuple(reads), tuple(writes))


class Same(UnitBench):
    """Both see the same streams in the same rhythm, and take, put, drop, read and say the same."""

    def __init__(self, hand: FiringRule, declared: Declared) -> None:
        super().__init__(translated(hand, declared))
        self.hand = hand

    def check(self, m: Module, unit: Unit) -> None:
        m.submodules.hand = hand = Unit(self.hand)
        for port, (front, visible, take) in enumerate(zip(self.fronts, self.visible, self.takes, strict=True)):
            one, other = getattr(unit, f"input{port}"), getattr(hand, f"input{port}")
            m.d.comb += [other.header.eq(front), other.valid.eq(visible), Assert((visible & other.ready) == take)]
            if hasattr(one, "word"):
                m.d.comb += [other.word.eq(one.word), Assert(one.drop == other.drop)]
            if hasattr(one, "open"):
                acts = Cat(*self.takes, *self.puts).any()
                opens = (one.open == other.open) & (~one.open | (one.offset == other.offset))
                m.d.comb += Assert(~acts | opens)
        for port, format in enumerate(self.rule.outputs):
            one, other = getattr(unit, f"output{port}"), getattr(hand, f"output{port}")
            m.d.comb += [other.space.eq(self.space[port]), Assert(one.claim == other.claim)]
            m.d.comb += [Assert(one.valid == other.valid), Assert(~one.valid | equal(one.header, other.header))]
            if format.word_bits:
                m.d.comb += Assert((self.left[port] == 0) | (one.word == other.word))
        m.d.comb += [Assert(unit.fault == hand.fault), Assert(unit.finished == hand.finished)]
        m.d.comb += Assert((unit.activity == hand.activity) | (unit.fault != 0))

    def _progress(self, m: Module, unit: Unit) -> None:
        """Both wait for the same."""

    def _expect_words(self, m: Module, port: int, word: Value) -> None:
        """What words are is compared while any are to come."""
        beats, begins, left = self.rule.outputs[port].beats, self.puts[port] & self.sent[port].value, self.left[port]
        m.d.sync += left.eq(Mux(begins, beats, Mux(left != 0, left - 1, 0)))
