"""Generate: the values before, those for every element of the reference, those behind, and stops as extents say."""

from __future__ import annotations

from itertools import product
from math import prod

from amaranth.hdl import Array, Assert, C, Cat, Module, Mux, Signal
from refuting import Mutants, check, proofs
from unit_bench import UnitBench, bare, control, words

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from hw.units import generate

LISTED = [
    ("begins.eq(place < self.before)", "begins.eq(place + 1 < self.before)"),
    ("Mux(place == last, self.before, place + 1)", "Mux(place == last, 0, place + 1)"),
    ("reference.done & (left != 0)", "reference.done & (left > 1)"),
    ("self.before + self.period + self.behind - left, place", "self.before + self.period, place"),
    ("with m.If(~begins & ~ending & (~between | ends)):", "with m.If(~begins & (~between | ends)):"),
    ("            with m.If(~begins):\n                firing.wait(firing.visible(0))",
     "            firing.wait(firing.visible(0))"),
    ("firing.latched(number)", "number"),
]  # fmt: skip
NESTED = [
    ("level + Mux(ends, reference.stop, 0)", "level + reference.stop"),
    ("Mux(empty, reference.stop + len(self.extents), 0))", "Mux(empty, reference.stop, 0))"),
    ("rank=Mux(empty, reference.rank + len(self.extents), 0)", "rank=reference.rank"),
    ("len(self.extents), when=between)", "len(self.extents))"),
    ("ends, level = walked.last, walked.level", "ends, level = Const(1), walked.level"),
    ("level + Mux(ends, reference.stop, 0), Mux(empty", "Mux(ends, reference.stop, 0), Mux(empty"),
    ("last * self.token.words + firing.phase()", "last * self.token.words"),
    ("firing.occupy(when=begins | between | ending)", "firing.occupy(when=begins | ending)"),
]
ALONE = [
    ("done = Signal(init=0 in self.extents)", "done = Signal()"),
    ("            with m.If(ends):\n                firing.next(done, 1)", "            firing.next(done, 1)"),
]
COUNTED = [
    ("Mux(integer == last, first, integer + step)", "integer + step"),
    ("        with m.If(steps):\n            firing.next(integer", "        if True:\n            firing.next(integer"),
]


class Generated(UnitBench):
    """``index`` of the value within its element, and ``turn`` of the values that are repeated."""

    def check(self, m: Module, unit: Unit) -> None:
        rule, (put,), (sent,) = self.rule, self.puts, self.sent
        size = prod(rule.extents)
        begun, behind = Signal(range(rule.before + 1)), Signal(range(rule.behind + 1))
        turn, index = Signal(range(rule.period)), Signal(range(max(size, 1)))
        over = Signal(init=size == 0)  # of a stream without a reference: all is there
        before, last = begun != rule.before, index == size - 1
        if self.fronts:
            (front,) = self.fronts
            value, done, stop, rank = front.value, front.done, front.stop, front.rank
        else:
            value, done, stop, rank = ~over, over, C(0), C(0)
        between, ending = ~before & value, ~before & done & (behind != rule.behind)
        empty, end = ~before & (rank != 0), ~before & done & ~ending
        with m.If(put & before):
            m.d.sync += begun.eq(begun + 1)
        with m.If(put & between):
            m.d.sync += [turn.eq(Mux(turn == rule.period - 1, 0, turn + 1)), index.eq(Mux(last, 0, index + 1))]
            m.d.sync += over.eq(over | last)
        with m.If(put & ending):
            m.d.sync += behind.eq(behind + 1)
        own = Array(levels(rule.extents, bool(self.fronts)) or [0])[index]
        depth = len(rule.extents)
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
        place = Mux(before, begun, Mux(ending, rule.before + rule.period + behind, rule.before + turn))
        if rule.integers:
            first, _, step = rule.integers
            listed = (first + step * turn)[: rule.token.bits]
        elif rule.token.items:
            taken = 1 if rule.token.control else rule.token.words
            parts = [rule.words[at : at + taken] for at in range(0, len(rule.words), taken)]
            listed = Array(C(sum(word << at for at, word in enumerate(each)), 8) for each in parts)[place]
        if rule.token.control:
            m.d.comb += Assert(~(put & sent.value) | (sent.control == listed))
        elif rule.token.items:
            self.expects[0] = listed


def levels(extents: tuple[int, ...], referred: bool) -> list[int]:
    """How many inner dimensions end with each value; the outermost one of a stream of its own has no stop."""
    found = []
    for position in product(*map(range, extents)):
        ends = [at == extent - 1 for at, extent in zip(reversed(position), reversed(extents), strict=True)]
        level = ([*ends, False]).index(False)
        found.append(level if referred else min(level, len(extents) - 1))
    return found


def rule(
    module: generate,  # type: ignore[valid-type]
    reference: TokenFormat | None,
    token: TokenFormat,
    extents: tuple[int, ...],
    counts: tuple[int, int, int] = (0, 1, 0),
    integers: tuple[int, int, int] | None = None,
) -> generate.Generate:
    """Values that follow each other are not alike."""
    before, period, behind = counts
    number = sum(counts) * (1 if token.control else token.words) if token.items and not integers else 0
    listed = tuple((at ^ at >> 1) & 1 for at in range(number))
    return module.Generate(reference, token, extents, before, period, behind, listed, integers)  # type: ignore[attr-defined]


@proofs(
    ("reference", "token", "extents", "counts", "mutants"),
    [
        (bare(0), words(0, 2), (), (2, 3, 2), LISTED),
        (bare(0), control(0), (), (1, 2, 1), []),
        (bare(1), words(3, 2), (2, 2), (0, 3, 0), NESTED),
        (bare(2), words(3, 1), (3,), (0, 2, 0), []),
        (bare(1), bare(2), (2,), (0, 1, 0), []),
        (None, words(1, 1), (2, 3), (0, 4, 0), ALONE[1:]),
        (None, control(0), (0,), (1, 1, 2), ALONE[:1]),
    ],
)
def test_values_are_generated(
    reference: TokenFormat | None,
    token: TokenFormat,
    extents: tuple[int, ...],
    counts: tuple[int, int, int],
    mutants: list[tuple[str, str]],
) -> None:
    check(generate, lambda module: Generated(rule(module, reference, token, extents, counts)), mutants)


@proofs(("token", "integers", "mutants"), [(control(2, 3), (1, 5, 2), COUNTED), (words(2, 1), (0, 1, 1), [])])
def test_integers_are_counted(token: TokenFormat, integers: tuple[int, int, int], mutants: Mutants) -> None:
    first, last, step = integers
    counts = (0, len(range(first, last + 1, step)), 0)
    check(generate, lambda module: Generated(rule(module, bare(1), token, (2,), counts, integers)), mutants)
