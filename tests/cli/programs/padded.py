"""Tiles whose last rows are padding."""

from step import FP32, Graph, Program
from step.functions import Silu, Transpose


def program(rows=4, turned=False):
    graph = Graph("padded")
    x = graph.load(graph.tensor("x", (6, 4), FP32), tile=(1, 4)).flatten(0, 2).tiles(rows)
    (x.map(Transpose()) if turned else x).map(Silu()).store("y")
    return Program(graph, {"x": [[1.0] * 4] * 6})
