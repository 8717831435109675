"""Every unit driven at the clock edge, with random idle cycles and backpressure, against the interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import cases
from edges import drive_edges
from farm import farm
from scenarios import SCENARIOS, Scenario

from cosim.running.bench_run import source_transfers
from hw.design.emit import emit
from hw.links.layout import input_formats
from hw.links.packing import unpack_transfers
from step.language.graph import Graph
from step.language.tokens import Token
from step.lowering.netlist import lower
from step.programs.data.equality import same_value
from step.programs.data.inputs import bind_inputs
from step.programs.program import Program
from step.running.interpreter import interpret

SHARES = [pytest.param(40, id="a-fortieth"), pytest.param(1, id="all", marks=pytest.mark.slow)]
"""Of how many scenarios one is played: Amaranth's simulator plays more of them in tests/hw, so some are enough here."""


@pytest.fixture(scope="module", params=SHARES)
def played(request: pytest.FixtureRequest) -> list[Scenario]:
    """The scenarios that need no memory behind the fabric."""
    suited = [each for each in SCENARIOS if not (needs_memory(each) or chosen_by_time(each))]
    return suited[:: request.param]


@pytest.fixture(scope="module")
def program(played: list[Scenario]) -> Program:
    return farm("edges", played)


@pytest.fixture(scope="module")
def design(program: Program, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("edges")
    emit(lower(program.graph, program.fabric), directory, probes=True)
    return directory


def needs_memory(scenario: Scenario) -> bool:
    graph = Graph("alone")
    scenario.build(graph)
    return any(node.operator.reads(node) or node.operator.writes(node) for node in graph)


def chosen_by_time(scenario: Scenario) -> bool:
    """Where a chunk goes depends on timing, and so may what becomes of it."""
    graph = Graph("alone")
    scenario.build(graph)
    return not scenario.ordered and bool(graph.feedbacks)


@cases(("none", "random", 1), ("random", "none", 2), ("random", "random", 3), ("bursty", "bursty", 4))
def test_tokens_do_not_depend_on_when_ports_are_willing(
    idle: str, backpressure: str, seed: int, played: list[Scenario], program: Program, design: Path
) -> None:
    netlist = lower(program.graph, program.fabric)
    transfers = source_transfers(netlist, bind_inputs(program.graph, program.inputs))
    run = drive_edges(design, sources=transfers, idle=idle, backpressure=backpressure, seed=seed)
    assert run.violations == []
    meaning = interpret(program.graph, program.inputs)
    unordered = {f"s{number}_" for number, each in enumerate(played) if not each.ordered}
    for name, taken in run.sinks.items():
        node = netlist.graph.nodes[name]
        tokens = unpack_transfers(taken, node.inputs[0].element, *input_formats(node, netlist))
        got = [token for token in tokens if not token.done]
        wanted = meaning.outputs[name]
        if any(name.startswith(prefix) for prefix in unordered):
            assert sorted(map(_key, got)) == sorted(map(_key, wanted)), name
        else:
            assert len(got) == len(wanted), name
            assert all(
                left.stop == right.stop and left.has_value == right.has_value and same_value(left.value, right.value)
                for left, right in zip(got, wanted, strict=True)
            ), name


def _key(token: Token) -> str:
    """Orders the values of tokens; where their order may differ, their stops may too."""
    return str(token.value.tolist() if hasattr(token.value, "tolist") else token.value)
