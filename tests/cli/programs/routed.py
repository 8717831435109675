"""Numbers that all go one of two ways."""

from step import FP32, Graph, Program, Tile


def program(rows=3, first=1):
    graph = Graph("routed")
    x = graph.source("x", Tile(FP32), [rows])
    for number, part in enumerate(x.partition(graph.selectors("which", 2, [rows]), targets=2)):
        part.sink(f"y{number}")
    return Program(graph, {"x": list(range(rows)), "which": [first] * rows})
