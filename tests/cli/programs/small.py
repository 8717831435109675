"""A small program with a stream that nobody reads."""

from step import BF16, Graph
from step.language.types import Tile


def program():
    graph = Graph("small")
    x = graph.source("x", Tile(BF16), [graph.symbol("N"), 2])
    x.flatten(0, 1, name="flat").store("y")
    x.promote(name="unread")
    return graph


def mismatch():
    graph = Graph("bad")
    return graph.source("x", Tile(BF16), [3]).flatten(0, 1)
