"""Three units."""

from step import FP32, FabricConfig, Graph, Program, Tile


def program():
    graph = Graph("tiny")
    graph.source("x", Tile(FP32), [3]).promote(name="up").sink("y")
    return Program(graph, {"x": [1, 2, 3]}, FabricConfig())
