"""Words of many bits, of which parts are chosen: Verilator can not put all such choices into loops."""

from __future__ import annotations

import numpy as np

from cosim.comparing.compare import compare
from step import BF16, FP32, FabricConfig, Graph, Program, Tile
from step.functions import Mul


def test_halves_of_words_of_a_memory() -> None:
    graph, random = Graph("wide"), np.random.default_rng(0)
    x = graph.source("x", Tile(BF16, 8, 64), [3])
    y = graph.source("y", Tile(FP32, 8, 64), [3])
    x.map(Mul(out=BF16), y).sink("z")
    inputs = {name: random.standard_normal((3, 8, 64)) for name in "xy"}
    found = compare(Program(graph, inputs, FabricConfig(link_bytes=128, vector_lanes=32)), optimize=False)
    assert found.passed, found
