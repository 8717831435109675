"""What loads ask for: a request for every tile of a walk, or every address, and beside it what its token will be."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import prod
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, C, Cat, Module, Mux, Signal
from refuting import check_rule_on_all, some_or_all_mutants
from unit_bench import UnitBench, bare, control, equal

from hw.firing.unit import Unit
from hw.links.layout import AddressFormat, TokenFormat
from hw.rules.unit import Translated
from step.firing.declared import PENDING, REQUEST, Declared
from step.firing.machine import Machine
from step.language.faults import Fault
from step.language.loops import Walk
from step.rules.linear_off_chip_load import IssueOnce, IssuePerReference
from step.rules.random_off_chip_load import RandomIssue

pytestmark = pytest.mark.large


class Walked(UnitBench):
    """``index`` of the next tile of a read, along a ``walk``."""

    def __init__(self, rule: Translated, walk: Walk) -> None:
        super().__init__(rule)
        self.walk = walk

    def check(self, m: Module, unit: Unit) -> None:
        walk, puts, (request, pending) = self.walk, self.puts, self.sent
        size, depth = prod(walk.extents), len(walk.extents)
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
        ended = Signal()
        with m.If(puts[PENDING] & pending.done):
            m.d.sync += ended.eq(1)
        places = [*product(*map(range, walk.extents))]
        ends = [[at == extent - 1 for at, extent in zip(each, walk.extents, strict=True)] for each in places]
        levels = Array([*reversed(each), False].index(False) for each in ends)
        strides = [walk.offset + sum(at * step for at, step in zip(each, walk.strides, strict=True)) for each in places]
        m.d.comb += [
            Assert(~(puts[PENDING] & ended)),
            Assert(puts[REQUEST] == (puts[PENDING] & value)),
            Assert(~puts[PENDING] | Cat(*self.visible, C(1, 1)).all()),
            Assert(~puts[REQUEST] | (request.control == Array(strides)[index])),
            Assert(~puts[PENDING] | ((pending.value == value) & (pending.done == done))),
            Assert(
                ~(puts[PENDING] & value) | ((pending.stop == levels[index] + Mux(last, stop, 0)) & (pending.rank == 0))
            ),
            Assert(~(puts[PENDING] & (rank != 0)) | ((pending.stop == stop + depth) & (pending.rank == rank + depth))),
            Assert(unit.fault == 0),
        ]


class Addressed(UnitBench):
    """As many ``tiles`` as there are, of so many ``beats``."""

    def __init__(self, rule: Translated, tiles: int, beats: int) -> None:
        super().__init__(rule)
        self.tiles, self.beats = tiles, beats

    def check(self, m: Module, unit: Unit) -> None:
        puts, (request, pending), (front,), (take,) = self.puts, self.sent, self.fronts, self.takes
        wrong = front.value & (front.control >= self.tiles)
        m.d.comb += [
            Assert(~take | (self.visible[0] & ~wrong)),
            Assert((unit.fault == 0) | (self.visible[0] & wrong & (unit.fault == Fault.OUT_OF_RANGE))),
            Assert(puts[PENDING] == take),
            Assert(puts[REQUEST] == (take & front.value)),
            Assert(~puts[REQUEST] | (request.control == front.control * self.beats)),
            Assert(~take | equal(pending, front)),
        ]


def loading(
    machine: type[Machine], reads: tuple[TokenFormat, ...], pending: TokenFormat, walk: Walk, **given: Any
) -> Translated:
    """The rule of ``machine``, which loads along ``walk``."""
    rule = Translated.of(Declared(machine, given, loads=walk), reads, (AddressFormat(), pending))
    assert rule.execution
    return rule


def walked(machine: type[Machine], reference: TokenFormat | None, walk: Walk) -> Walked:
    depth = len(walk.extents)
    given = {"indices": walk, "levels": walk.stops}
    if reference is None:
        return Walked(loading(machine, (), bare(depth), walk, **given), walk)
    rule = loading(machine, (reference,), bare(reference.rank + depth), walk, **given, rank=depth)
    return Walked(rule, walk)


def addressed(machine: type[Machine], tiles: int, beats: int) -> Addressed:
    rule = loading(machine, (control(1, 3),), bare(1), Walk((tiles,), (beats,)))
    return Addressed(rule, tiles, beats)


@some_or_all_mutants
def test_walks_per_reference(thorough: bool) -> None:
    benches = [
        lambda machine: walked(machine, bare(1), Walk((2, 3), (1, 4))),
        lambda machine: walked(machine, bare(0), Walk((3,), (-2,), 7)),
        lambda machine: walked(machine, bare(1), Walk((2, 1, 2), (8, 0, 3))),
        lambda machine: walked(machine, bare(1), Walk((1,), (1,), 5)),
    ]
    check_rule_on_all(IssuePerReference, benches, thorough=thorough)


@some_or_all_mutants
def test_a_walk_alone(thorough: bool) -> None:
    benches = [
        lambda machine: walked(machine, None, Walk((2, 2), (3, 1))),
        lambda machine: walked(machine, None, Walk((1,), (1,))),
    ]
    check_rule_on_all(IssueOnce, benches, thorough=thorough)


@some_or_all_mutants
def test_addresses(thorough: bool) -> None:
    benches = [partial(addressed, tiles=tiles, beats=beats) for tiles, beats in ((3, 2), (4, 1), (5, 3), (1, 4))]
    check_rule_on_all(RandomIssue, benches, thorough=thorough)
