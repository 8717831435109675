"""Flatten: every entry of the merged rows once, and stops as the language says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from cases import cases
from proving import refuted
from refuting import check_rule, some_or_all_mutants
from unit_bench import UnitBench, control, equal, translated, words

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from step.firing.machine import Machine
from step.rules.flatten import Flatten, HoldingFlatten

pytestmark = pytest.mark.large

VANISHED = "an empty of rank `high` has vanished before"
UNCHANGED: dict[type[Machine], dict[str, str]] = {
    Flatten: {"8:48 x.rank > self.high -> x.rank >= self.high": VANISHED},
    HoldingFlatten: {"15:44 x.rank > self.high -> x.rank >= self.high": VANISHED},
}


class Merged(UnitBench):
    holds = False

    def check(self, m: Module, unit: Unit) -> None:
        (front,), (take,), (put,), (sent,) = self.fronts, self.takes, self.puts, self.sent
        low, high = self.given["low"], self.given["high"]
        lost = high - low
        owed, entry = Signal(), Signal(front.shape())  # an entry that went in and did not come out
        its_words = Signal(self.words[0].shape())
        adds_nothing = (front.rank > low) & (front.rank <= high)
        above, inside = front.stop > high, (front.stop > low) & (front.stop <= high)
        if not self.holds:  # no dimension that is merged can be empty
            m.d.comb += Assume(~adds_nothing | ~above)
        stop = Mux(above, front.stop - lost, Mux(inside, low, front.stop))
        rank = Mux(front.rank > high, front.rank - lost, front.rank)
        as_entry = equal(sent, front, stop=stop, rank=rank)
        row_ends = Mux(
            owed, equal(sent, entry, stop=stop), (sent.rank == low + 1) & (sent.stop == stop) & ~sent.value & ~sent.done
        )
        waits = take & ~adds_nothing & inside & self.holds
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


class Held(Merged):
    holds = True


def merged(machine: type[Machine], token: TokenFormat, low: int, high: int) -> Merged:
    lost = high - low
    stops = tuple(stop - lost if stop > high else min(stop, low) for stop in range(token.rank + 1))
    flat = replace(token, rank=token.rank - lost)
    bench = Held if issubclass(machine, HoldingFlatten) else Merged
    return bench(translated(machine, [token], [flat], low=low, high=high, stops=stops))


@cases(
    (words(2, 2), 0, 1, HoldingFlatten), (words(3, 2), 0, 2, HoldingFlatten), (control(2), 0, 1, HoldingFlatten),
    (words(2, 2), 0, 1, Flatten), (words(2, 1), 0, 2, Flatten),
)  # fmt: skip
def test_rows_are_merged(token: TokenFormat, low: int, high: int, machine: type[Machine]) -> None:
    assert refuted({"": merged(machine, token, low, high)}) == {}


@some_or_all_mutants
@pytest.mark.parametrize("machine", [Flatten, HoldingFlatten])
def test_mutants(machine: type[Machine], thorough: bool) -> None:
    check_rule(machine, lambda each: merged(each, words(3, 2), 1, 2), UNCHANGED[machine], thorough=thorough)
