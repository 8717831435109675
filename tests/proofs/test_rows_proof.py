"""Tiles with a dynamic number of rows: of each the words that its rows say leave, before the next one's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from amaranth.hdl import Cat, Module
from mutants import mutant
from proving import refuted
from refuting import check, proofs
from test_broadcast_proof import Copies
from test_eager_merge_proof import Merged
from test_expand_proof import Following, Repeated
from test_flatten_proof import Held
from test_promote_proof import LastOneRaised
from test_reassemble_proof import Gathered
from test_reshape_proof import Splits
from test_zip_proof import Pairs
from unit_bench import UnitBench, bare, control, dynamic, words

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from hw.rules import moving, unit, writing
from step.firing.declared import Declared
from step.firing.machine import Machine
from step.firing.words import side_by_side
from step.language.dtypes import INT8
from step.language.graph import Graph
from step.language.types import Tile, Tuple
from step.lowering.fabric import FabricConfig
from step.rules.broadcast import Broadcast
from step.rules.eager_merge import EagerMerge
from step.rules.expand import Follow, Repeat
from step.rules.flatten import HoldingFlatten
from step.rules.promote import Promote
from step.rules.reassemble import Reassemble
from step.rules.reshape import Split
from step.rules.zip import Zip

pytestmark = pytest.mark.large

LONG = "return largest(1, *(each.at(self._rows) for each in most), *waits)"
OCCUPIED = [(LONG, "return largest(1, *(each.at(1) for each in most), *waits)"), (LONG, "return 1")]
"""A firing takes as long as one with a row."""


def translated(
    bench: type[UnitBench],
    machine: type[Machine],
    token: TokenFormat,
    *writes: TokenFormat,
    more: tuple[TokenFormat, ...] = (),
    **given: Any,
) -> Callable[[ModuleType], UnitBench]:
    """The ``bench`` of the rule of ``machine``, as a module translates it, which reads ``token`` and ``more``."""

    def made(module: ModuleType) -> UnitBench:
        return bench(module.Translated.of(Declared(machine, given, 0), (token, *more), writes))

    return made


ONE, TWO = dynamic(1, 3), dynamic(2, 2)
RAISED = replace(ONE, rank=2)
NAMED = ONE, control(1, 2)
GATHERED = replace(ONE, rank=3)


@proofs(
    ("bench", "mutants"),
    [
        (translated(Copies, Broadcast, ONE, ONE, bare(1), ONE), OCCUPIED),
        (translated(LastOneRaised, Promote, ONE, RAISED, top=2), OCCUPIED),
        (translated(Held, HoldingFlatten, TWO, dynamic(1, 2), low=0, high=1, stops=(0, 0, 1)), OCCUPIED),
        (translated(Repeated, Repeat, ONE, ONE, count=3), OCCUPIED),
        (translated(Following, Follow, ONE, RAISED, more=(bare(2),), rank=1), OCCUPIED),
        (translated(Splits, Split, ONE, RAISED, replace(words(2, 1), items=(1,)), chunk=3, rank=1), OCCUPIED),
        (translated(Merged, EagerMerge, ONE, ONE, control(0, 2), more=(ONE,), rank=1), OCCUPIED),
        (translated(Gathered, Reassemble, ONE, GATHERED, more=NAMED, rank=1, by_arrival=False), OCCUPIED),
        (translated(Gathered, Reassemble, ONE, GATHERED, more=NAMED, rank=1, by_arrival=True), OCCUPIED),
    ],
)
def test_of_translated_units(bench: Callable[[ModuleType], UnitBench], mutants: list[tuple[str, str]]) -> None:
    check(unit, bench, mutants, [writing])


class Paired(Pairs):
    """Of two tiles of one column, the rows of the first one stand in front of those of the second one."""

    def check(self, m: Module, unit: Unit) -> None:
        super().check(m, unit)
        rows = self.fronts[0].rows
        one, other = self.oldest
        before = Cat(bit & (row < rows) for row, bit in enumerate(one))
        self.expects[0] = (before | (other << rows))[: 2 * len(one)]


PAIRED = [
    ("phase >= begin", "phase > begin"),
    ("begin = firing.latched(begins.at(rows))", "begin = firing.latched(begins.at(rows) + 1)"),
]


def paired(module: ModuleType) -> UnitBench:
    fabric, tile = FabricConfig(link_bytes=1, dynamic_rows=2), Tile(INT8, Graph("rows").symbol("R"), 1)
    pair = TokenFormat.element(1, Tuple((tile, tile)), fabric)
    given = {"more": (dynamic(1, 2),), "pair": side_by_side, "tiled": (0, 1)}
    return translated(Paired, Zip, dynamic(1, 2), pair, **given)(module)


@proofs(("mutants",), [(OCCUPIED,)])
def test_of_tuples(mutants: list[tuple[str, str]]) -> None:
    check(unit, paired, mutants, [writing])


@pytest.mark.parametrize(("old", "new"), [PAIRED[0], pytest.param(*PAIRED[1], marks=pytest.mark.slow)])
def test_mutants_of_the_reader(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "send_words", mutant(moving, old, new).send_words)
    assert refuted({"": paired(unit)}).keys() != set()
