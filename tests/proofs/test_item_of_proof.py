"""ItemOf: the headers of tuples, and the words of one item, as many cycles later as there are words in front of it."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Assert, C, Cat, Module, Signal
from refuting import check
from unit_bench import UnitBench, bare, control, equal, words

from hw.firing import machine as skeleton
from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from hw.units import item_of

MUTANTS = [
    ("return (self.first,)", "return (0,)"),
    ("return self.first + (self.words if self.item.control else 0)", "return self.first + 1"),
    ("firing.read_from(0, self.first)", "firing.read_from(0, self.first - 1)"),
    ("firing.occupy(when=token.value)", "firing.occupy(when=token.stop)"),
    ("firing.put(0, token)", "firing.put(0, token, stop=0)"),
]
CONTROL = [
    ("(self.words if self.item.control else 0)", "0"),
    ("number = firing.phase() - self.first", "number = firing.phase()"),
]
SKELETON = [
    ("        if offset:\n", "        if False:\n"),
    ("m.d.comb += head.drop.eq(pulses[0])", "m.d.comb += head.drop.eq(self.fires & drops)"),
]


class Chosen(UnitBench):
    def __init__(self, rule: Any, module: Any = skeleton) -> None:
        super().__init__(rule, module)
        self.patience = max(0, rule.token.beats - 1)  # the words of the other items pass, too

    def check(self, m: Module, unit: Unit) -> None:
        (front,), (take,), (put,), (sent,) = self.fronts, self.takes, self.puts, self.sent
        rule = self.rule
        passed: Any = self.words[0][rule.first : rule.first + rule.words]
        taken, token = take, front
        for cycle in range(rule.latency):  # what was taken so many cycles ago
            earlier, taken = taken, Signal(name=f"taken{cycle}")
            before, token = token, Signal(front.shape(), name=f"token{cycle}")
            words_before, passed = passed, Signal(rule.words, name=f"passed{cycle}")
            m.d.sync += [taken.eq(earlier), token.eq(before), passed.eq(words_before)]
        value = {"control": Cat(bit for word in passed for bit in (word, C(0, 7)))} if rule.item.control else {}
        m.d.comb += [Assert(~take | self.visible[0]), Assert(put == taken), Assert(unit.fault == 0)]
        m.d.comb += Assert(~put | equal(sent, token, **value))
        self.expects[0] = passed


def rule(module: Any, before: int, item: TokenFormat, after: int) -> Any:
    """The item behind ``before`` words, and in front of ``after``."""
    tuples = TokenFormat(item.rank, (*[8] * before, *item.items, *[8] * after), 8)
    return module.ItemOf(tuples, item, before, tuples.beats - before - after)


@pytest.mark.parametrize(
    ("before", "item", "after", "mutants"),
    [
        (1, words(1, 2), 1, MUTANTS),
        (2, words(0, 1), 0, []),
        (0, words(1, 1), 2, []),
        (1, control(1, 16), 1, CONTROL),
        (0, control(0, 8), 1, []),
    ],
)
def test_an_item_of_a_tuple(before: int, item: TokenFormat, after: int, mutants: list[tuple[str, str]]) -> None:
    check(item_of, lambda module: Chosen(rule(module, before, item, after)), mutants)


def test_headers_alone() -> None:
    check(item_of, lambda module: Chosen(module.ItemOf(bare(1), bare(1), 0, 0)), [])


def test_the_skeleton_reads_the_words_later() -> None:
    check(skeleton, lambda module: Chosen(rule(item_of, 2, words(1, 1), 1), module), SKELETON)
