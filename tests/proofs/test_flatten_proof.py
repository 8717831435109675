"""Flatten: every entry of the merged rows once, and stops as the language says."""

from __future__ import annotations

import pytest
from amaranth.hdl import Assert, Module, Mux, Signal
from refuting import check
from unit_bench import UnitBench, control, equal, words

from hw.layout import TokenFormat
from hw.unit import Unit
from hw.units import flatten

HOLDING = [
    ("firing.next(holding, Mux(vanishes, holding & ~above, within))", "firing.next(holding, ~vanishes & within)"),
    ("Mux(above, token.stop - lost, token.stop)),\n            rank", "token.stop),\n            rank"),
    ("with m.If(vanishes | within | ~holding):", "with m.If(~vanishes | ~holding):"),
    ("        with m.If(~vanishes):\n            firing.next(held, token)", "        firing.next(held, token)"),
    ("Mux(holding, held.value, token.value)", "token.value"),
    ("rank=Mux(holding, held.rank if self.low else 0, rank)", "rank=rank"),
    ("firing.drop(0, when=puts & value)", "firing.drop(0, when=puts & token.value)"),
    ("firing.drop(0, when=puts & value)", "firing.drop(0, when=value)"),
    ("firing.occupy(when=puts & value)", "firing.occupy(when=token.value)"),
]
PLAIN = [
    ("Mux(above, token.stop - lost, Mux(within, self.low, token.stop))", "Mux(above, token.stop - lost, token.stop)"),
    ("when=~vanishes | above, stop=stop", "when=~vanishes, stop=stop"),
]


class Merged(UnitBench):
    def check(self, m: Module, unit: Unit) -> None:
        (front,), (take,), (put,), (sent,) = self.fronts, self.takes, self.puts, self.sent
        low, high, holds = self.rule.low, self.rule.high, self.rule.holds
        lost = high - low
        owed, entry = Signal(), Signal(front.shape())  # an entry that went in and did not come out
        its_words = Signal(self.words[0].shape())
        adds_nothing = (front.rank > low) & (front.rank <= high)
        above, inside = front.stop > high, (front.stop > low) & (front.stop <= high)
        stop = Mux(above, front.stop - lost, Mux(inside, low, front.stop))
        rank = Mux(front.rank > high, front.rank - lost, front.rank)
        as_entry = equal(sent, front, stop=stop, rank=rank)
        row_ends = Mux(
            owed,
            equal(sent, entry, stop=stop),
            (sent.rank == low + 1) & (sent.stop == stop) & ~sent.value & ~sent.done,
        )
        waits = take & ~adds_nothing & inside & bool(holds)
        with m.If(waits):
            m.d.sync += [owed.eq(1), entry.eq(front), its_words.eq(self.words[0])]
        with m.Elif(put):
            m.d.sync += owed.eq(0)
        m.d.comb += [
            Assert(~(put | take) | self.visible[0]),
            Assert(~put | Mux(adds_nothing, above & row_ends, Mux(owed, equal(sent, entry, stop=low), as_entry))),
            Assert(~(take & adds_nothing) | (put == above)),
            Assert(~(put & adds_nothing) | take),
            Assert(~(take & ~adds_nothing & ~owed) | (put == ~waits)),
            Assert(~(take & ~adds_nothing & owed) | (put & waits)),
            Assert(~(put & ~take) | owed),
            Assert(unit.fault == 0),
        ]
        self.expects[0] = Mux(owed, its_words, self.words[0])


@pytest.mark.parametrize(
    ("token", "low", "high", "holds", "mutants"),
    [
        (words(2, 2), 0, 1, True, HOLDING[:5] + HOLDING[6:]),
        (words(3, 1), 1, 2, True, HOLDING[5:6]),
        (words(3, 2), 0, 2, True, []),
        (control(2), 0, 1, True, []),
        (words(2, 2), 0, 1, False, PLAIN),
        (words(2, 1), 0, 2, False, []),
    ],
)
def test_rows_are_merged(token: TokenFormat, low: int, high: int, holds: bool, mutants: list[tuple[str, str]]) -> None:
    check(flatten, lambda module: Merged(module.Flatten(token, low, high, holds)), mutants)
