"""Zip: tokens side by side, their words one after the other, or a fault where they disagree."""

from __future__ import annotations

import pytest
from amaranth.hdl import Assert, Cat, Module
from proving import refuted
from refuting import check, check_rule, proofs, some_or_all_mutants
from unit_bench import UnitBench, control, equal, translated, words

from hw.firing import machine as skeleton
from hw.firing import mechanism
from hw.firing.unit import FiringRule, Unit
from hw.links.layout import TokenFormat
from step.firing.machine import Machine
from step.firing.words import side_by_side
from step.rules.zip import Zip

pytestmark = pytest.mark.large

SKELETON = [
    ("pulses = delay.o", "pulses = Cat(self.fires & drops, delay.o[1])"),
    ("pulses = delay.o", "pulses = Cat(delay.o[0], self.fires)"),
    ("DelayLine(len(pulses), offset)", "DelayLine(len(pulses), offset + 1)"),
    ("(each.rank != first.rank)", "(each.rank < first.rank)"),
    ("(phase != last, phase + 1)", "(phase != last, last)"),
    ("else cycles) - 1)", "else cycles) - 2)"),
]  # fmt: skip
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
            for item, front, oldest in zip(self.rule.inputs, self.fronts, self.oldest, strict=True)
        )


def joined(*items: TokenFormat) -> TokenFormat:
    return TokenFormat(1, tuple(bits for item in items for bits in item.items), 8)


def zipped(machine: type[Machine], *items: TokenFormat) -> FiringRule:
    return translated(machine, items, [joined(*items)], pair=side_by_side, tiled=())


@pytest.mark.parametrize("items", [(ONCE, TWICE), (ONCE, ONCE), (TWICE, CONTROL), (CONTROL, ONCE)])
def test_pairs_are_what_stands_in_front(items: tuple[TokenFormat, ...]) -> None:
    assert refuted({"": Pairs(zipped(Zip, *items))}) == {}


@some_or_all_mutants
def test_mutants(thorough: bool) -> None:
    check_rule(Zip, lambda each: Pairs(zipped(each, TWICE, ONCE)), thorough=thorough)


@proofs(("mutants",), [(SKELETON,)])
def test_the_skeleton_opens_one_after_the_other(mutants: list[tuple[str, str]]) -> None:
    check(skeleton, lambda module: Pairs(zipped(Zip, TWICE, TWICE), module), mutants, [mechanism])
