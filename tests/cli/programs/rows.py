"""A stream that is long, and regular."""

import numpy as np

from step import BF16, Graph, Program, Tile


def program():
    graph = Graph("rows")
    graph.source("x", Tile(BF16), [graph.symbol("N"), 4]).sink("y")
    return Program(graph, {"x": np.zeros((900, 4, 1, 1))})
