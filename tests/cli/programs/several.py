"""Several programs."""

from step import BF16, Graph, Tile


def sweep():
    graphs = [Graph(f"p{size}") for size in (2, 3, 4)]
    for graph in graphs:
        graph.source("x", Tile(BF16), [graph.symbol("N")]).sink("y")
    return graphs
