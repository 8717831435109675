"""A program with parameters."""

from step import FP32, Graph, Program, Tile


def program(rows=2, name="sums"):
    graph = Graph(name)
    graph.source("x", Tile(FP32), [rows]).sink("y")
    return Program(graph, {"x": [1.0] * rows})
