"""Generate: the values before, those for every element of the reference, those behind, and stops as extents say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Array, Assert, C, Cat, Module, Mux, Signal
from cases import cases
from proving import refuted
from refuting import check_rule_on_all, some_or_all_mutants
from unit_bench import UnitBench, bare, control, translated, words

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from step.firing.item import Listed
from step.firing.machine import Machine
from step.language.loops import Stops
from step.rules.generate import Generate

pytestmark = pytest.mark.large


class Generated(UnitBench):
    """``index`` of the value within its element, and ``turn`` of the values that are repeated.

    ``extents`` and the numbers of values (before, repeated, behind) are those of the rule; ``values`` are as bits.
    """

    def __init__(
        self, rule: Any, extents: tuple[int, ...], counts: tuple[int, int, int], values: Sequence[int]
    ) -> None:
        super().__init__(rule)
        self.extents, self.counts, self.values = extents, counts, values

    def check(self, m: Module, unit: Unit) -> None:
        (token,), (put,), (sent,) = self.rule.outputs, self.puts, self.sent
        (before_all, period, behind_all), size = self.counts, prod(self.extents)
        begun, behind = Signal(range(before_all + 1)), Signal(range(behind_all + 1))
        turn, index = Signal(range(period)), Signal(range(max(size, 1)))
        over = Signal(init=size == 0)  # of a stream without a reference: all is there
        before, last = begun != before_all, index == size - 1
        if self.fronts:
            (front,) = self.fronts
            value, done, stop, rank = front.value, front.done, front.stop, front.rank
        else:
            value, done, stop, rank = ~over, over, C(0), C(0)
        between, ending = ~before & value, ~before & done & (behind != behind_all)
        empty, end = ~before & (rank != 0), ~before & done & ~ending
        with m.If(put & before):
            m.d.sync += begun.eq(begun + 1)
        with m.If(put & between):
            m.d.sync += [turn.eq(Mux(turn == period - 1, 0, turn + 1)), index.eq(Mux(last, 0, index + 1))]
            m.d.sync += over.eq(over | last)
        with m.If(put & ending):
            m.d.sync += behind.eq(behind + 1)
        own = Array(levels(self.extents, bool(self.fronts)) or [0])[index]
        depth = len(self.extents)
        m.d.comb += [
            Assert(~put | before | Cat(*self.visible).all()),
            Assert(~before | ~self.space[0] | (self.left[0] > 1) | put),  # nothing else is waited for
            Assert(~put | (sent.value == (before | between | ending))),
            Assert(~put | (sent.done == end)),
            Assert(~put | (sent.stop == Mux(between, own + Mux(last, stop, 0), Mux(empty, stop + depth, 0)))),
            Assert(~put | (sent.rank == Mux(empty, rank + depth, 0))),
            Assert(unit.fault == 0),
        ]
        if self.fronts:
            m.d.comb += Assert(self.takes[0] == (put & (empty | end | (between & last))))
        place = Mux(before, begun, Mux(ending, before_all + period + behind, before_all + turn))
        listed = Array(C(each, 8) for each in self.values)[place]
        if token.control:
            m.d.comb += Assert(~(put & sent.value) | (sent.control == listed[: token.bits]))
        elif token.items:
            self.expects[0] = listed


def levels(extents: tuple[int, ...], referred: bool) -> list[int]:
    """How many inner dimensions end with each value; the outermost one of a stream of its own has no stop."""
    found = []
    for position in product(*map(range, extents)):
        ends = [at == extent - 1 for at, extent in zip(reversed(position), reversed(extents), strict=True)]
        level = ([*ends, False]).index(False)
        found.append(level if referred else min(level, len(extents) - 1))
    return found


def generated(
    machine: type[Machine],
    reference: TokenFormat | None,
    token: TokenFormat,
    extents: tuple[int, ...],
    counts: tuple[int, int, int] = (0, 1, 0),
    integers: range | None = None,
) -> Generated:
    """Values that follow each other are not alike."""
    before, period, behind = counts
    count = 1 if token.control else token.words
    if integers is None:
        parts = [
            [(at ^ at >> 1) & 1 for at in range(each * count, each * count + count)] for each in range(sum(counts))
        ]
        tiles: Sequence[Any] = [np.array([each], np.uint8) for each in parts]
        values, listed = (
            [sum(bit << at for at, bit in enumerate(each)) for each in parts],
            Listed(tiles, tiles.__getitem__),
        )
    else:
        values, listed = list(integers), Listed(integers, integers.__getitem__)
    depth = len(extents)
    levels = Stops(extents, depth - (reference is None))
    given = {"before": before, "last": before + period - 1, "total": sum(counts), "left": behind, "rank": depth}
    reads = [] if reference is None else [reference]
    rule = translated(machine, reads, [token], **given, levels=levels, over=not len(levels), value=listed)
    return Generated(rule, extents, counts, values)


@cases(
    (bare(0), words(0, 2), (), (2, 3, 2)),
    (bare(0), control(0), (), (1, 2, 1)),
    (bare(1), words(3, 2), (2, 2), (0, 3, 0)),
    (bare(2), words(3, 1), (3,), (0, 2, 0)),
    (bare(1), bare(2), (2,), (0, 1, 0)),
    (None, words(1, 1), (2, 3), (0, 4, 0)),
    (None, control(0), (0,), (1, 1, 2)),
)
def test_values_are_generated(
    reference: TokenFormat | None, token: TokenFormat, extents: tuple[int, ...], counts: tuple[int, int, int]
) -> None:
    assert refuted({"": generated(Generate, reference, token, extents, counts)}) == {}


@cases((control(2, 3), range(1, 6, 2)), (words(2, 1), range(2)), (control(2, 3), range(6, 0, -1)))
def test_integers_are_counted(token: TokenFormat, integers: range) -> None:
    assert refuted({"": generated(Generate, bare(1), token, (2,), (0, len(integers), 0), integers)}) == {}


BENCHES = (
    (bare(0), words(0, 2), (), (2, 3, 2)),
    (bare(1), words(3, 2), (2, 2), (0, 3, 0)),
    (None, words(0, 1), (3,), (1, 2, 1)),
)


@some_or_all_mutants
def test_mutants(thorough: bool) -> None:
    benches = [lambda each, given=given: generated(each, *given) for given in BENCHES]
    check_rule_on_all(Generate, benches, thorough=thorough)
