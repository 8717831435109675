"""Programs that are made from something else: errors name the lines of that."""

from __future__ import annotations

import pytest
from raising import raised

from step import BF16, FP32, Graph, Location, Tile, interpret
from step.errors import GraphError, StepError, TypeMismatch
from step.functions import Add, Column
from step.library import parallelize


def test_operators_are_where_the_model_says(graph: Graph) -> None:
    with graph.at(Location("model.py", 3)):
        x = graph.source("x", Tile(BF16, 2, 4), [3])
        with graph.at(Location("model.py", 7)):
            y = x.map(Column(1))
        n = graph.symbol("N")
        edge = graph.feedback(Tile(BF16), [3], name="back")
    z = y.map(Add(), y, name="outside")
    places = [str(graph.nodes[each.producer].location) for each in (x, y)]
    assert places == ["model.py:3", "model.py:7"]
    assert str(graph.symbols[str(n)].born) == str(edge.location) == "model.py:3"
    assert "test_locations.py" in str(graph.nodes[z.producer].location)


def test_errors_name_the_line_of_the_model(graph: Graph) -> None:
    with graph.at(Location("model.py", 3)):
        x = graph.source("x", Tile(BF16, 2, 4), [3])
    with pytest.raises(TypeMismatch) as caught, graph.at(Location("model.py", 12)):
        x.map(Column(4), name="pick")
    assert "map 'pick' (model.py:12): column needs index to be 0 to 3, a column of Tile(BF16, 2, 4), not 4" in str(
        caught.value
    )
    assert "input 0: x: [3] of Tile(BF16, 2, 4), from model.py:3" in str(caught.value)
    with pytest.raises(GraphError) as twice, graph.at(Location("model.py", 13)):
        graph.source("x", Tile(BF16), [3])
    assert str(twice.value) == "the name 'x' is used twice: model.py:3 and model.py:13"
    with pytest.raises(StepError) as regions, graph.at(Location("model.py", 14)):
        parallelize(x, lambda some: some, regions=0)
    assert str(regions.value) == "parallelize 'parallel' (model.py:14): regions must be an integer >= 1, not 0"


def test_an_error_inside_ends_it(graph: Graph) -> None:
    with pytest.raises(ValueError), graph.at(Location("model.py", 3)):
        raise ValueError
    assert "test_locations.py" in str(graph.here)


def test_faults_of_a_run_name_the_line_of_the_model(graph: Graph) -> None:
    with graph.at(Location("model.py", 3)):
        x = graph.source("x", Tile(FP32), [graph.symbol("N")])
        y = graph.source("y", Tile(FP32), [graph.symbol("M")])
        x.assume_shape([2]).zip(y.assume_shape([2]), name="pair").sink("z")
    caught = raised(StepError, lambda: interpret(graph, {"x": [1, 2], "y": [1]}))
    assert "(model.py:3)" in caught
