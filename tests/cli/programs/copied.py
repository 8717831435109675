"""A tensor that is loaded and stored."""

import numpy as np

from step import BF16, Graph, Program


def program():
    graph = Graph("copied")
    graph.load(graph.tensor("x", (8, 16), BF16), tile=(4, 16)).store("y")
    return Program(graph, {"x": np.ones((8, 16))})
