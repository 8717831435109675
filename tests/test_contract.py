"""Every operator keeps its contract, with any arguments and any streams: its sample, of which Hypothesis, or random
numbers for many programs in one build of the RTL, make the choices (`around`).

Interpreter and fast model are compared with the meaning on nested lists, symbolic numbers of elements and bytes with
what moved, and RTL with the fast model, in the cycle of every token and in all counters. RTL under idle sources and
sinks that are not ready is compared with the interpreter in `tests/hw/test_units_with_anything.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random

import pytest
from around import OPERATORS, build, drawn
from farm import farm
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from meaning.evaluate import difference, evaluate
from scenarios import FABRIC, Inputs

from cosim.comparing.compare import compare
from sim_approx import backend as approx
from step.errors import Deadlock
from step.language import operator as language
from step.language import symbols
from step.language.graph import Graph
from step.language.tokens import Token
from step.lowering.netlist import insert_broadcasts
from step.programs.data.inputs import bind_inputs
from step.programs.metrics import metrics
from step.running.interpreter import bind, interpret

PER_BUILD = 1
"""Programs of every operator in a build of the RTL."""


@pytest.mark.parametrize("operator", OPERATORS)
def test_meaning_and_metrics(operator: str) -> None:
    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False), st.booleans())
    def check(random: Random, roomy: bool) -> None:
        graph = Graph("contract")
        inputs = build(operator, random, graph, roomy=roomy)
        try:
            check_meaning(graph, inputs)
        except Deadlock:
            assume(roomy)  # the channels may have too little space
            raise

    check()


@pytest.mark.parametrize("operator", ["eager_merge", "reassemble"])
def test_order_of_arrival(operator: str) -> None:
    """Few programs have another one than that of the ports, so many are tried."""
    for seed in range(60):
        graph = Graph("contract")
        check_meaning(graph, drawn(operator, seed).build(graph))


def check_meaning(graph: Graph, given: Inputs) -> None:
    """Interpreter, fast model and metrics of a program are as meant."""
    inputs = bind_inputs(graph, given)
    run = approx.run(graph, inputs, FABRIC, values="all")
    meant = evaluate(graph, inputs, run.arrivals)
    found = interpret(graph, inputs, record=True, arrivals=run.arrivals)
    for stream in insert_broadcasts(graph).streams():
        what = difference(found.streams[str(stream)], meant.streams[str(stream)], stream.rank)
        assert what is None, f"interpreter, {stream}: {what}"
    for name, nested in meant.outputs.items():
        rank = len(graph.tensors[name].shape) - 1 if name in graph.tensors else graph.nodes[name].inputs[0].rank
        what = difference((run.outputs or {})[name], nested, rank)
        assert what is None, f"fast model, {name}: {what}"
    assert check_metrics(graph, bind(graph, inputs), found.streams) == run.off_chip_bytes


def check_metrics(graph: Graph, extents: Mapping[str, int], streams: Mapping[str, list[Token]]) -> int:
    """Streams have as many elements as their shapes say, and memory ports move as many bytes as the metrics say.

    Returns these.
    """
    moved = 0
    for node in graph:
        written, read = node.operator.writes(node), node.operator.reads(node)
        inputs = [(written is not None and port == written.port, each) for port, each in enumerate(node.inputs)]
        outputs = [(read is not None, each) for each in graph.streams() if each.producer == node.name]
        for moves, stream in inputs + outputs:
            elements = sum(each.has_value for each in streams[str(stream)])
            assert symbols.evaluate(stream.type.count, extents, graph) == elements, stream
            if moves:
                moved += elements * int(stream.element.bytes)
    assert metrics(graph).bind(extents).off_chip_bytes == moved
    return moved


def test_every_operator_is_there() -> None:
    assert {*OPERATORS} == {*language.OPERATORS} and len(OPERATORS) >= 24


def check_rtl(seeds: Iterable[int]) -> None:
    """All operators with every seed, in one build."""
    programs = [drawn(operator, seed) for operator in OPERATORS for seed in seeds]
    found = compare(farm("contract", programs), optimize=False)
    assert found.mismatches == 0 and found.first_difference is None, (found.first_mismatch, found.first_difference)
    assert found.exact_cycles == found.approximate_cycles and found.first_traffic is None
    for each in found.operators:
        counters = replace(each.approximate, firings=each.exact.firings)  # RTL does not count these
        assert each.exact == counters, programs[int(each.name[1:].partition("_")[0])].name


def test_every_token_comes_in_its_cycle() -> None:
    check_rtl(range(PER_BUILD))


@pytest.mark.slow
@pytest.mark.parametrize("build", range(1, 12))
def test_every_token_comes_in_its_cycle_in_many_programs(build: int) -> None:
    check_rtl(range(build * PER_BUILD, (build + 1) * PER_BUILD))
