"""A program with parameters of all types."""

from step import FP32, Graph, Program, Tile


def program(dynamic: bool = False, count: int = 2, scale: "float" = 1.0, depth=3, plain=True):
    graph = Graph(f"{dynamic}_{plain}")
    graph.source("x", Tile(FP32), [2]).sink("y")
    return Program(graph, {"x": [1.0, 2.0]})
