"""Expand: copies as often as the count or the reference says, the stop with the last one."""

from __future__ import annotations

import pytest
from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from refuting import check
from unit_bench import UnitBench, bare, control, equal, words

from hw.layout import TokenFormat
from hw.unit import Unit
from hw.units import expand

COUNTED = [
    ("index != self.count - 1", "index != self.count - 2"),
    ("            firing.next(index, 0)\n", ""),
    ("firing.put(0, token, stop=0)", "firing.put(0, token)"),
    ("firing.occupy(when=token.value)", "firing.occupy(when=token.stop)"),
]
FOLLOWING = [
    ("last = reference.done | (reference.stop >= self.rank)", "last = reference.done | (reference.stop > self.rank)"),
    ("stop=reference.stop, rank=reference.rank, **", "stop=data.stop, rank=reference.rank, **"),
    ("        firing.take(REFERENCE)\n", ""),
    ("(outside != data.rank)", "(outside > 3)"),
    ("firing.pass_data(DATA, 0)", "firing.send(0, firing.lagging(firing.word(DATA)))"),
    ("firing.occupy(when=reference.value)", "firing.occupy(when=data.value & last)"),
]


class Repeated(UnitBench):
    def check(self, m: Module, unit: Unit) -> None:
        (front,), (take,), (put,), (sent,) = self.fronts, self.takes, self.puts, self.sent
        done = Signal(range(self.rule.count))  # copies of the value in front that went out
        last = ~front.value | (done == self.rule.count - 1)
        with m.If(put):
            m.d.sync += done.eq(Mux(last, 0, done + 1))
        m.d.comb += [
            Assert(~put | self.visible[0]),
            Assert(~put | equal(sent, front, stop=Mux(last, front.stop, 0))),
            Assert(take == (put & last)),
            Assert(unit.fault == 0),
        ]
        self.expects[0] = self.words[0]


class Following(UnitBench):
    def check(self, m: Module, unit: Unit) -> None:
        (data, reference), (put,), (sent,) = self.fronts, self.puts, self.sent
        last = reference.done | (reference.stop >= self.rule.rank)
        outside = Mux(reference.rank > self.rule.rank, reference.rank, 0)
        agree = (reference.done == data.done) & (outside == data.rank) & (~last | (reference.stop == data.stop))
        value = {"control": data.control} if self.rule.data.control else {}
        m.d.comb += [
            Assert(~put | (Cat(*self.visible).all() & agree)),
            Assert(~put | equal(sent, reference, **value)),
            Assert(put == self.takes[1]),
            Assert(self.takes[0] == (put & last)),
            Assert((unit.fault == 0) | (Cat(*self.visible).all() & ~agree)),
        ]
        self.expects[0] = self.words[0]


@pytest.mark.parametrize(
    ("token", "mutants"), [(words(1, 2), COUNTED), (words(2, 1), []), (control(1, 2), []), (bare(1), [])]
)
def test_counted_copies(token: TokenFormat, mutants: list[tuple[str, str]]) -> None:
    check(expand, lambda module: Repeated(module.ExpandStatic(token, 3)), mutants)


@pytest.mark.parametrize(
    ("data", "rank", "mutants"),
    [(words(2, 2), 1, FOLLOWING), (words(2, 2), 2, []), (words(2, 1), 1, []), (control(2), 1, [])],
)
def test_copies_after_a_reference(data: TokenFormat, rank: int, mutants: list[tuple[str, str]]) -> None:
    check(expand, lambda module: Following(module.Expand(data, bare(2), rank)), mutants)
