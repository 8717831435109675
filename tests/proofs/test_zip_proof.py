"""Zip: tokens side by side, their words one after the other, or a fault where they disagree."""

from __future__ import annotations

import pytest
from amaranth.hdl import Assert, Cat, Module
from refuting import check
from unit_bench import UnitBench, control, equal, words

from hw import firing as skeleton
from hw.layout import TokenFormat
from hw.unit import Unit
from hw.units import zip as zip_unit

MUTANTS = [
    ("for port in range(len(self.items)):", "for port in range(1):"),
    ("firing.word(port) for", "firing.word(0) for"),
    ("token = firing.need_aligned()", "token = firing.need(0)\n        firing.need(1)"),
    ("firing.occupy(when=token.value)", "pass"),
    ("(begin if item.word_bits else 0 for", "(0 for"),
    ("with m.Case(*range(begin, begin + words)):", "with m.Case(begin):"),
    ("begin += words", "begin += 1"),
]
SKELETON = [
    ("pulses = delay.o", "pulses = Cat(self.fires & drops, delay.o[1])"),
    ("pulses = delay.o", "pulses = Cat(delay.o[0], self.fires)"),
    ("DelayLine(len(pulses), offset)", "DelayLine(len(pulses), offset + 1)"),
    ("(each.rank != first.rank)", "(each.rank < first.rank)"),
    ("phase.eq(phase + 1)", "phase.eq(last)"),
    (
        "self._m.d.sync += left.eq(cycles - 1)\n        with self._m.Elif(self._busy)",
        "self._m.d.sync += left.eq(cycles - 2)\n        with self._m.Elif(self._busy)",
    ),
]
TWICE, ONCE, CONTROL = words(1, 2), words(1, 1), control(1)


class Pairs(UnitBench):
    def check(self, m: Module, unit: Unit) -> None:
        (first, second), (put,), (sent,) = self.fronts, self.puts, self.sent
        agree = equal(first, second, control=first.control) if hasattr(first, "control") else equal(first, second)
        m.d.comb += [
            Assert(Cat(put, *self.takes).all() | ~Cat(put, *self.takes).any()),
            Assert(~put | (agree & equal(sent, first))),
            Assert((unit.fault == 0) | (Cat(*self.visible).all() & ~agree)),
        ]
        self.expects[0] = Cat(
            front.control if item.control else oldest
            for item, front, oldest in zip(self.rule.items, self.fronts, self.oldest, strict=True)
        )


def joined(*items: TokenFormat) -> TokenFormat:
    return TokenFormat(1, tuple(bits for item in items for bits in item.items), 8)


@pytest.mark.parametrize(
    ("items", "mutants"),
    [((TWICE, ONCE), MUTANTS), ((ONCE, TWICE), []), ((ONCE, ONCE), []), ((TWICE, CONTROL), []), ((CONTROL, ONCE), [])],
)
def test_pairs_are_what_stands_in_front(items: tuple[TokenFormat, ...], mutants: list[tuple[str, str]]) -> None:
    check(zip_unit, lambda module: Pairs(module.Zip(items, joined(*items))), mutants)


def test_the_skeleton_opens_one_after_the_other() -> None:
    check(skeleton, lambda module: Pairs(zip_unit.Zip((TWICE, TWICE), joined(TWICE, TWICE)), module), SKELETON)
