"""Streams of ragged shapes."""

from step import BF16, FP32, Graph, Tile


def program():
    graph = Graph("ragged")
    n, r = graph.symbol("N"), graph.symbol("R", ragged=True)
    x = graph.source("x", Tile(BF16, 1, 2), [n, r])
    which = graph.selectors("which", 2, [n])
    rows = x.partition(which, targets=2, rank=1, name="route")
    scale = graph.source("scale", Tile(FP32), [rows[0].shape[0]])
    scale.sink("z")
    for port, each in enumerate(rows):
        each.sink(f"y{port}")
    return graph
