"""ItemOf: the headers of tuples, and the words of one item, as many cycles later as there are words in front of it."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Assert, C, Cat, Module, Signal
from cases import cases
from mutants import mutant
from proving import refuted
from refuting import check, check_rule, proofs, some_or_all_mutants
from unit_bench import UnitBench, bare, equal

from hw.firing import machine as skeleton
from hw.firing import mechanism
from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from hw.rules import moving, writing
from hw.rules.unit import Translated
from step.firing.declared import Declared
from step.firing.item import Item
from step.firing.machine import Machine
from step.language.dtypes import INT8
from step.language.types import ElementType, Selector, Tile, Tuple
from step.lowering.fabric import FabricConfig
from step.rules.item_of import ItemOf

pytestmark = pytest.mark.large

WORD, TWO, CONTROL, WIDE_CONTROL = (*(Tile(INT8, 1, words) for words in (1, 2)), *(Selector(bits) for bits in (8, 16)))
"""Elements by their words on a link of one byte."""

MOVING = [
    ("firing.read_from(port, first)", "firing.read_from(port, first - 1)"),
    ("firing.read_from(port, first)", "pass"),
    ("firing.phase() - comes", "firing.phase()"),
]
SKELETON = [
    ("        elif offset:\n", "        elif False:\n"),
    ("m.d.comb += head.drop.eq(pulses[0])", "m.d.comb += head.drop.eq(self.fires & drops)"),
]


class Chosen(UnitBench):
    """Words ``first`` to ``first + count - 1`` leave, with tokens that were taken ``latency`` cycles ago."""

    def __init__(self, rule: Translated, first: int, count: int, latency: int, module: Any = skeleton) -> None:
        super().__init__(rule, module)
        self.first, self.count, self.latency = first, count, latency
        self.patience = max(0, rule.reads[0].words - 1)  # the words of the other items pass, too

    def check(self, m: Module, unit: Unit) -> None:
        (front,), (take,), (put,), (sent,) = self.fronts, self.takes, self.puts, self.sent
        passed: Any = self.words[0][self.first : self.first + self.count]
        taken, token = take, front
        for cycle in range(self.latency):  # what was taken so many cycles ago
            earlier, taken = taken, Signal(name=f"taken{cycle}")
            before, token = token, Signal(front.shape(), name=f"token{cycle}")
            words_before, passed = passed, Signal(self.count, name=f"passed{cycle}")
            m.d.sync += [taken.eq(earlier), token.eq(before), passed.eq(words_before)]
        control = self.rule.outputs[0].control
        value = {"control": Cat(bit for word in passed for bit in (word, C(0, 7)))} if control else {}
        m.d.comb += [Assert(~take | self.visible[0]), Assert(put == taken), Assert(unit.fault == 0)]
        m.d.comb += Assert(~put | equal(sent, token, **value))
        self.expects[0] = passed


def chosen(
    *items: ElementType,
    index: int,
    rank: int = 1,
    machine: type[Machine] = ItemOf,
    kind: type[Item] = Item,
    more: int = 0,
    module: Any = skeleton,
) -> Chosen:
    """Item ``index`` of a tuple of ``items``, which leaves ``more`` cycles later than it has to."""
    item = kind(Tuple(items), index)
    fabric = FabricConfig(link_bytes=1)
    reads, writes = (TokenFormat.element(rank, each, fabric) for each in (item.element, items[index]))
    declared = Declared(machine, {"item": item}, latency=lambda link_bytes, rows: item.latency(link_bytes, rows) + more)
    words = [-(-each.bits // 8) for each in items]
    first, count = sum(words[:index]), words[index]
    latency = first + more + (count if writes.control else 0)
    rule = Translated.of(declared, (reads,), (writes,))
    assert rule.execution
    return Chosen(rule, first, count, latency, module)


class TooEarly(Item):
    """Begins a word before it is there."""

    def first(self, link_bytes: int) -> int:
        return super().first(link_bytes) - 1


class TooLate(Item):
    """Takes a cycle more than there are words in front of it."""

    def latency(self, link_bytes: int, rows: int) -> int:
        return super().latency(link_bytes, rows) + 1


@cases(
    ((WORD, TWO, WORD), 1, 1), ((TWO, WORD), 1, 0), ((WORD, TWO), 0, 1), ((WORD, WIDE_CONTROL, WORD), 1, 1),
    ((CONTROL, WORD), 0, 0), ((Tuple((WORD, TWO)), WORD), 1, 0),
)  # fmt: skip
def test_an_item_of_a_tuple(items: tuple[ElementType, ...], index: int, rank: int) -> None:
    assert refuted({"": chosen(*items, index=index, rank=rank)}) == {}


def test_what_leaves_later_has_its_words_with_it() -> None:
    benches = [chosen(WORD, TWO, index=1, rank=0, more=2), chosen(WORD, CONTROL, index=1, rank=0, more=1)]
    assert refuted(dict(zip("ab", benches, strict=True))) == {}


def test_headers_alone() -> None:
    declared = Declared(ItemOf, {"item": Item(Tuple((WORD, WORD)), 1)}, latency=lambda link_bytes, rows: link_bytes)
    assert refuted({"": Chosen(Translated.of(declared, (bare(1),), (bare(1),)), 0, 0, 0)}) == {}


@some_or_all_mutants
def test_mutants(thorough: bool) -> None:
    check_rule(ItemOf, lambda each: chosen(WORD, TWO, WORD, index=1, machine=each), thorough=thorough)


def test_where_an_item_lies() -> None:
    kinds = {each.__name__: each for each in (Item, TooEarly, TooLate)}
    assert refuted({name: chosen(WORD, TWO, index=1, kind=each) for name, each in kinds.items()}).keys() == {
        "TooEarly",
        "TooLate",
    }


@pytest.mark.parametrize(("old", "new"), MOVING)
def test_mutants_of_the_reader(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "send_words", mutant(moving, old, new).send_words)
    benches = {"words": chosen(WORD, TWO, index=1), "control": chosen(WORD, WIDE_CONTROL, index=1)}
    assert refuted(benches).keys() != set()


@proofs(("mutants",), [(SKELETON,)])
def test_the_skeleton_reads_the_words_later(mutants: list[tuple[str, str]]) -> None:
    check(skeleton, lambda module: chosen(TWO, WORD, WORD, index=1, module=module), mutants, [mechanism])
