"""Random programs: interpreter = fast model = oracle, and RTL = fast model in the cycle of every token.

A seed that fails is in the message, with the command that runs it again.
"""

from __future__ import annotations

import pkgutil
from dataclasses import replace

import pytest
from cases import cases
from random_programs import OPERATORS, build
from random_programs.__main__ import listing
from random_programs.check import check
from random_programs.together import FABRIC, check_rtl

import step.ops
from step.language.faults import rows_of
from step.language.graph import Graph
from step.language.types import is_dynamic
from step.lowering.bus import BusConfig
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


@pytest.mark.parametrize("seed", [2, 1006])
def test_a_program_is_listed(seed: int, graph: Graph) -> None:
    """One whose streams go around, too."""
    build(seed, graph)
    lines = listing(seed).splitlines()
    assert bool(graph.feedbacks) == (seed == 1006)
    assert [each.partition(":")[0] for each in lines if each[0] != " "] == list(graph.nodes)


def test_tiles_of_dynamic_rows_occur() -> None:
    """Without any, and with as many as the fabric has room for."""
    most, found = set(), set()
    for seed in range(PER_TEST):
        draft = build(seed, Graph("random"))
        most.add(draft.most_rows)
        for stream in draft.graph.streams():
            if is_dynamic(stream.element):
                rows = [rows_of(each.value) for each in draft.contents.streams[str(stream)] if each.has_value]
                assert all(each <= draft.most_rows for each in rows)
                found |= {"none" for each in rows if each == 0} | {"most" for each in rows if each == draft.most_rows}
    assert len(most) > 3 and found == {"none", "most"}


def check_block(first: int, count: int) -> None:
    """Check ``count`` seeds."""
    for seed in range(first, first + count):
        result = check(seed)
        assert result.tokens and len(result.operators) >= OPERATORS[0]


@pytest.mark.parametrize("number", [*range(5), *(pytest.param(each, marks=pytest.mark.slow) for each in range(5, 15))])
def test_programs(number: int) -> None:
    check_block(number * PER_TEST, PER_TEST)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(50))
def test_many_programs(number: int) -> None:
    check_block(10_000 + number * 100, 100)


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


@pytest.mark.slow
@cases(
    (BusConfig(masters=1, bytes=4, burst=4, outstanding=1), 50_000),
    (BusConfig(masters=2, bytes=1, burst=16, outstanding=2), 50_100),
    (BusConfig(masters=3, bytes=2, burst=2, outstanding=3), 50_200),
    (BusConfig(masters=4, bytes=64, burst=8, outstanding=4), 50_300),
    ids=str,
)
def test_programs_in_rtl_on_shared_buses(bus: BusConfig, first: int) -> None:
    """Beats of four bytes are a transfer, several, and less than one."""
    fabric = replace(FABRIC, memory=replace(FABRIC.memory, bus=bus))
    assert len(check_rtl(range(first, first + 12), fabric).seeds) >= 8
