"""FlatMap's control: every piece of every element, in turn, with its own stop, the last one's raised."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Array, Assert, C, Cat, Module, Mux, Signal
from refuting import check, proofs
from unit_bench import UnitBench, bare, control, words

from hw.firing.unit import Unit
from hw.functions.retile import RetileSlicer
from hw.links.layout import TokenFormat
from hw.units import flat_map
from hw.units import pieces as cutting
from step.lowering.plans.retile import SplitPlan

pytestmark = pytest.mark.large

MUTANTS = [
    ("    with m.If(last):\n        for port", "    if True:\n        for port"),
    ("stop=Mux(last, stop, own)", "stop=Mux(last, token.stop, own)"),
    ("Mux(token.done, 0, each + raised)", "Mux(token.done, 0, each)"),
    ("firing.read_from(0, index * self.piece.words)", "firing.read_from(0, index)"),
    ("firing.occupy(when=token.value, cycles", "firing.occupy(when=index == 0, cycles"),
]
STOPS = [("stop=Mux(last, stop, own)", "stop=Mux(last, stop, 0)")]
THREE = [("firing.next(index, Mux(last, 0, index + 1))", "firing.next(index, index + 1)")]
WITHIN = [
    ("firing.word(0), at_result(within))", "firing.word(0), within)"),
    ("firing.read_from(0, index >> shift)", "firing.read_from(0, index)"),
]
COLUMNS = [
    ("Mux(first, 0, number + 1)", "0"),
    ("which = firing.delayed(firing.latched(index))", "which = firing.latched(index)"),
    ("turn.write_part.eq(into)", "turn.write_part.eq(0)"),
    ("before ^ (begins & (index == 0))", "before ^ begins"),
    ("place.eq(Mux(begins, 0, following))", "place.eq(following)"),
]
CONTROL = [
    ("element, firing.delayed(index))", "element, index)"),
    ("(number != self.token.words, number + 1)", "(number < self.token.words - 1, number + 1)"),
]


class Pieces(UnitBench):
    """What comes out is what was expected of it when its claim was made, `Rule.latency` cycles ago."""

    @property
    def patience(self) -> int:
        return self.rule.latency + self.rule.initiation_interval

    def check(self, m: Module, unit: Unit) -> None:
        (front,), (take,), rule = self.fronts, self.takes, self.rule
        size, rank, slicer, count = len(rule.stops), rule.stops[-1], rule.slicer, max(1, rule.piece.words)
        index, claim = Signal(range(max(2, size))), unit.output0.claim
        last = index == size - 1
        with m.If(claim & front.value):
            m.d.sync += index.eq(Mux(last, 0, index + 1))
        bits = Cat(bit for word in self.words[0] for bit in (word, C(0, 7)))
        parts = [
            Cat(
                bits.word_select(line * size + piece, slicer.width) if len(bits) else C(0, slicer.width)
                for line in range(slicer.lines)
            )
            for piece in range(size)
        ]
        piece = Array(parts)[index]
        value = Cat(piece[at : at + 1] for at in range(0, slicer.lines * slicer.width, 8))[:count]
        inner = Mux(last, front.stop + rank, Array(rule.stops)[index])
        stop = Mux(front.value, inner, Mux(front.done, 0, front.stop + rank))
        above = Mux(front.rank != 0, front.rank + rank, 0)
        self.follows(m, claim, front.done, front.value, stop, above, value)
        m.d.comb += [
            Assert(~claim | self.visible[0]),
            Assert(take == (claim & (~front.value | last))),
            Assert(unit.fault == 0),
        ]


def pieces(
    module: Any, token: TokenFormat, piece: TokenFormat, lines: int, width: int, stops: tuple[int, ...]
) -> Pieces:
    plan = SplitPlan(token.bits, lines, width, token.link_bits, token.control, piece.control)
    return Pieces(module.FlatMap(token, piece, RetileSlicer(plan, len(stops)), stops))


def narrow(rank: int, bits: int) -> TokenFormat:
    """Pieces of one word that is narrower than the link."""
    return TokenFormat(rank, (bits,), 8)


@proofs(
    ("token", "piece", "lines", "width", "stops", "mutants"),
    [
        (words(1, 4), words(3, 2), 1, 16, (0, 2), MUTANTS),
        (words(0, 4), words(2, 1), 1, 8, (0, 1, 0, 2), STOPS),
        (words(0, 2), narrow(1, 4), 1, 4, (0, 0, 0, 1), WITHIN),
        pytest.param(words(0, 4), words(1, 2), 2, 8, (0, 1), COLUMNS, marks=pytest.mark.slow),
        (words(1, 2), control(2, 8), 1, 8, (0, 1), CONTROL),
        (bare(1), bare(2), 1, 8, (0, 0, 1), THREE),
    ],
)
def test_elements_leave_piece_by_piece(
    token: TokenFormat,
    piece: TokenFormat,
    lines: int,
    width: int,
    stops: tuple[int, ...],
    mutants: list[tuple[str, str]],
) -> None:
    check(flat_map, lambda module: pieces(module, token, piece, lines, width, stops), mutants, [cutting])
