"""Two units of one function, with lanes of their own."""

import numpy as np

from step import BF16, FabricConfig, Graph, Program, Tile
from step.functions import Add, Exp


def program(rows: int = 3):
    graph = Graph("two")
    x = graph.source("x", Tile(BF16, 2, 4), [rows, 20])
    x.map(Exp(), name="exp").accum(Add(), name="total").sink("y")
    x.map(Exp(), name="again").sink("z")
    return Program(graph, {"x": np.ones((rows, 20, 2, 4))}, FabricConfig(stages=3, lanes={"exp": 2}))
