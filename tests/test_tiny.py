"""The smallest end-to-end check of the language: run this file first when something is broken."""

from __future__ import annotations

import numpy as np

from step import BF16, Graph, interpret, metrics
from step.functions import Add, Mul
from step.language.types import Tile


def test_a_program_of_five_operators(graph: Graph) -> None:
    """Rows of two tiles, doubled and summed: 1+2 and 3+4 become 6 and 14."""
    x = graph.load(graph.tensor("x", (2, 2), BF16), tile=(1, 1)).flatten(1, 2, name="rows")
    two = graph.source("two", Tile(BF16), [2, 2])
    x.map(Mul(), two).accum(Add()).store("y")
    run = interpret(graph, {"x": np.array([[1, 2], [3, 4]]), "two": np.full((2, 2), 2.0)})
    assert [float(token.value[0, 0]) for token in run.outputs["y"]] == [6.0, 14.0]

    cost = metrics(graph)
    assert cost.off_chip_bytes == 4 * 2 + 2 * 4  # four BF16 in, two FP32 out
    assert cost.flops == 4 + 4  # a product and a sum per element
    assert cost.on_chip_bytes == 2 * 2 + 4 + 2 * 4  # load, state of the sum, store
