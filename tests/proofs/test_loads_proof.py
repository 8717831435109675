"""What loads ask for: a request for every tile of a walk, or every address, and beside it what its token will be."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, C, Cat, Module, Mux, Signal
from refuting import check, proofs
from unit_bench import UnitBench, bare, control, equal

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from hw.memory.tile_load import PENDING, REQUEST
from hw.units import linear_off_chip_load, random_off_chip_load
from step.language.faults import Fault

pytestmark = pytest.mark.large

WALK = [
    ("firing.next(offset, offset + step)", "firing.next(offset, step)"),
    ("firing.next(offset, 0)", "firing.next(offset, offset)"),
    ("            with m.If(last):\n                firing.take(0)", "            firing.take(0)"),
    ("stop=reference.stop + depth, rank", "stop=reference.stop, rank"),
    ("rank=reference.rank + depth", "rank=reference.rank"),
    ("len(self.extents) + stop, place.level", "len(self.extents), place.level"),
    ("len(self.extents) + stop, place.level", "len(self.extents) + stop, 0"),
    ("firing.put(REQUEST, address=firing.unit.base + offset)", "firing.put(REQUEST, address=firing.unit.base)"),
]
ALONE = [
    ("with m.If(~walked):", "with m.If(walked):"),
    ("firing.next(walked, self._read(m, firing, 0))",
     "self._read(m, firing, 0)\n                firing.next(walked, 1)"),
]  # fmt: skip
ADDRESSES = [
    ("token.control >= self.tiles", "token.control > self.tiles"),
    ("beat_of(token.control, self.tiles, self.beats)", "token.control"),
    ("firing.put(PENDING, token)", "firing.put(PENDING, token, stop=0)"),
    ("        with m.If(token.value):\n            with", "        with m.If(~token.done):\n            with"),
]


class Walked(UnitBench):
    """``index`` of the next tile of a read."""

    def check(self, m: Module, unit: Unit) -> None:
        rule, puts, (request, pending) = self.rule, self.puts, self.sent
        size, depth = prod(rule.extents), len(rule.extents)
        index, over = Signal(range(max(size, 2))), Signal()
        last = index == size - 1
        if self.fronts:
            (front,), (take,) = self.fronts, self.takes
            value, done, stop, rank = front.value, front.done, front.stop, front.rank
            m.d.comb += Assert(take == (puts[PENDING] & (~value | last)))
        else:
            value, done, stop, rank = ~over, over, C(0), C(0)
        with m.If(puts[REQUEST]):
            m.d.sync += [index.eq(Mux(last, 0, index + 1)), over.eq(last)]
        places = [*product(*map(range, rule.extents))]
        ends = [[at == extent - 1 for at, extent in zip(each, rule.extents, strict=True)] for each in places]
        levels = Array([*reversed(each), False].index(False) for each in ends)
        strides = [sum(at * step for at, step in zip(each, rule.strides, strict=True)) for each in places]
        m.d.comb += [
            Assert(puts[REQUEST] == (puts[PENDING] & value)),
            Assert(~puts[PENDING] | Cat(*self.visible, C(1, 1)).all()),
            Assert(~puts[REQUEST] | (request.address == Array(strides)[index])),
            Assert(~puts[PENDING] | ((pending.value == value) & (pending.done == done))),
            Assert(
                ~(puts[PENDING] & value) | ((pending.stop == levels[index] + Mux(last, stop, 0)) & (pending.rank == 0))
            ),
            Assert(~(puts[PENDING] & (rank != 0)) | ((pending.stop == stop + depth) & (pending.rank == rank + depth))),
            Assert(unit.fault == 0),
        ]


class Addressed(UnitBench):
    def check(self, m: Module, unit: Unit) -> None:
        rule, puts, (request, pending), (front,), (take,) = self.rule, self.puts, self.sent, self.fronts, self.takes
        wrong = front.value & (front.control >= rule.tiles)
        m.d.comb += [
            Assert(~take | (self.visible[0] & ~wrong)),
            Assert((unit.fault == 0) | (self.visible[0] & wrong & (unit.fault == Fault.OUT_OF_RANGE))),
            Assert(puts[PENDING] == take),
            Assert(puts[REQUEST] == (take & front.value)),
            Assert(~puts[REQUEST] | (request.address == front.control * rule.beats)),
            Assert(~take | equal(pending, front)),
        ]


@proofs(
    ("reference", "extents", "strides", "mutants"),
    [
        (bare(1), (2, 3), (1, 4), WALK),
        (bare(0), (3,), (2,), []),
        (bare(1), (2, 1, 2), (8, 0, 3), []),
        (None, (2, 2), (3, 1), ALONE),
    ],
)
def test_walks(
    reference: TokenFormat | None, extents: tuple[int, ...], strides: tuple[int, ...], mutants: list[tuple[str, str]]
) -> None:
    pending = bare((0 if reference is None else reference.rank) + len(extents))

    def bench(module: Any) -> Walked:
        return Walked(module.LoadIssue(reference, pending, extents, strides))

    check(linear_off_chip_load, bench, mutants)


@proofs(("tiles", "beats", "mutants"), [(3, 2, ADDRESSES), (4, 1, []), (5, 3, [])])
def test_addresses(tiles: int, beats: int, mutants: list[tuple[str, str]]) -> None:
    def bench(module: Any) -> Addressed:
        return Addressed(module.RandomIssue(control(1, 3), bare(1), tiles, beats))

    check(random_off_chip_load, bench, mutants)
