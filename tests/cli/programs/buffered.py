"""Two buffers of four tiles."""

import numpy as np

from step import BF16, Graph, Program, Tile


def program():
    graph = Graph("buffered")
    x = graph.source("x", Tile(BF16, 16, 16), [3, 4])
    x.bufferize(name="tiles").streamify(count=2).sink("y")
    return Program(graph, {"x": np.zeros((3, 4, 16, 16))})
