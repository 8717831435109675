"""Rows that an operator from outside of the tree moves by one element: tiles of one word and of three, and empties."""

from __future__ import annotations

import numpy as np

from step import INT32, FabricConfig, Graph, Program, Tile
from step.language.tokens import Token, parse


def tiles(text: str, words: int) -> list[Token]:
    """The stream in ``text``, whose number n stands for the tile n, n + 1..."""
    return [
        each._replace(value=np.arange(each.value, each.value + words, dtype=np.int32).reshape(1, words))
        if each.has_value
        else each
        for each in parse(text)
    ]


def program() -> Program:
    """A stream shifted once, and one shifted twice behind wider links."""
    graph = Graph("shifted")
    rows = graph.symbol("N"), graph.symbol("M", ragged=True)
    graph.source("one", Tile(INT32), rows).shift().sink("once")
    more = graph.symbol("K"), graph.symbol("L", ragged=True)
    graph.source("three", Tile(INT32, 1, 3), more).shift(name="wide").shift().sink("twice")
    texts = {"one": "11 12 13 S1 21 S1 E1 31 32 S1 D", "three": "10 20 30 40 S1 50 S1 60 70 S1 D"}
    data = {"one": tiles(texts["one"], 1), "three": tiles(texts["three"], 3)}
    return Program(graph, data, FabricConfig(link_bytes=4, links={"wide": 8}))
