"""Random programs: interpreter = fast model = oracle, and RTL = fast model in the cycle of every token.

A seed that fails is in the message, with the command that runs it again.
"""

from __future__ import annotations

import pkgutil
from dataclasses import replace

import pytest
from random_programs import OPERATORS, build
from random_programs.check import check, check_meaning
from random_programs.together import FABRIC, check_rtl

import step.ops
from step.language.graph import Graph
from step.lowering.netlist import insert_broadcasts

PER_TEST = 40


def test_every_operator_occurs() -> None:
    """All of them, by their samples."""
    found = set()
    for seed in range(PER_TEST):
        graph = Graph("random")
        build(seed, graph)
        found |= {node.operator.name for node in insert_broadcasts(graph)}
    assert found == {each.name for each in pkgutil.iter_modules(step.ops.__path__)}


def check_block(first: int, count: int) -> None:
    """Check ``count`` seeds."""
    for seed in range(first, first + count):
        agreement = check(seed)
        assert agreement.tokens and len(agreement.operators) >= OPERATORS[0]


@pytest.mark.parametrize("number", [*range(8), *(pytest.param(each, marks=pytest.mark.slow) for each in range(8, 15))])
def test_programs(number: int) -> None:
    check_block(number * PER_TEST, PER_TEST)


def test_programs_with_tiles_of_dynamic_size() -> None:
    agreements = [check_meaning(seed) for seed in range(50)]
    assert sum(each.cycles > 0 for each in agreements) > 40


@pytest.mark.slow
@pytest.mark.parametrize("number", range(50))
def test_many_programs(number: int) -> None:
    check_block(10_000 + number * 100, 100)


@pytest.mark.slow
def test_many_programs_with_tiles_of_dynamic_size() -> None:
    for seed in range(10_000, 11_000):
        check_meaning(seed)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_programs_in_rtl(number: int) -> None:
    agreement = check_rtl(range(20_000 + number * 22, 20_000 + (number + 1) * 22))
    assert len(agreement.seeds) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("stages, first", [(1, 34_000), (4, 38_000), (4, 46_000)])
@pytest.mark.parametrize("link_bytes", [4, 8, 64, 4096])
def test_programs_in_rtl_on_all_fabrics(link_bytes: int, stages: int, first: int) -> None:
    fabric = replace(FABRIC, link_bytes=link_bytes, stages=stages, block_ram_words=8)
    first += link_bytes
    assert len(check_rtl(range(first, first + 12), fabric).seeds) >= 8
