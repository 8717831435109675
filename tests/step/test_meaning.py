"""Every scenario means the same on tokens and on nested lists: every stream, and all that leaves the program."""

from __future__ import annotations

import pytest
from meaning.evaluate import difference, evaluate
from raising import raising
from scenarios import SCENARIOS, Scenario

from step.errors import FabricError
from step.language.dtypes import FP32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.netlist import insert_broadcasts
from step.ops import Promote
from step.running.interpreter import interpret


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_tokens_are_those_of_the_nested_lists(scenario: Scenario) -> None:
    graph = Graph("scenario")
    inputs = scenario.build(graph)
    found = interpret(graph, inputs, record=True)
    meant = evaluate(graph, inputs, found.arrivals if graph.feedbacks else None, found.streams)
    streams = list(insert_broadcasts(graph).streams())
    assert {str(each) for each in streams} == set(found.streams) == set(meant.streams)
    for stream in streams:
        assert difference(found.streams[str(stream)], meant.streams[str(stream)], stream.rank) is None, str(stream)
    for node in graph:
        if not node.operator.outputs:
            (read,) = node.inputs
            assert difference(found.outputs[node.name], meant.outputs[node.name], read.rank) is None, node.name


def test_an_operator_that_nobody_says() -> None:
    class _Silent(Promote):
        name = "silent"

    graph = Graph("silent")
    graph.add(_Silent(), [graph.source("x", Tile(FP32), [2])], name="z")
    place, has = (
        graph.nodes["z"].describe(),
        "a file silent.py there, or an entry point 'silent' in the group 'step.rules'",
    )
    with raising(FabricError, f"{place}: step.rules has nothing for the operator 'silent'; it needs {has}"):
        interpret(graph, {"x": [1, 2]})
