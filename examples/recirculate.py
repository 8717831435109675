"""A weight that is read once: it goes round in a loop, past one block of rows after the other."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from step import BF16, FabricConfig, Graph, MemoryConfig, Program, Selector
from step.functions import Matmul

BLOCKS, ROWS = 6, 4
TILES, SIZE = 4, 16


def program(name: str = "recirculate") -> Program:
    """``x @ weight`` for six blocks of four rows; the weight is [64, 16], in four tiles."""
    graph = Graph(name)
    x = graph.load(graph.tensor("x", (BLOCKS * ROWS, TILES * SIZE), BF16), tile=(ROWS, SIZE), name="load_x")
    weight = graph.load(graph.tensor("weight", (TILES * SIZE, SIZE), BF16), tile=(SIZE, SIZE), name="load_weight")
    once = weight.flatten(0, 1, name="once")  # [1, 4]

    # The first time from memory, then once for every other block from the loop, which has room for all of it.
    loop = graph.feedback(weight.element, [BLOCKS - 1, TILES], name="loop")
    first, again = 1, 2
    enter = graph.generate(Selector(2), [again], [BLOCKS - 1], before=[first], name="enter")
    gathered = graph.reassemble([once, loop.stream.buffered(TILES)], enter, rank=1, name="weights")
    weights = gathered.flatten(1, 2, name="every_time").assume_shape([BLOCKS, TILES])

    # Behind the last block it is dropped.
    keep, drop = 1, 0
    leave = graph.generate(Selector(1), [keep], [BLOCKS - 1], behind=[drop], name="leave")
    (back,) = weights.partition(leave, targets=1, rank=1, name="back")
    loop.close(back.assume_shape([BLOCKS - 1, TILES]))

    x.flatten(1, 2, name="blocks").accum(Matmul(), weights, name="product").store("output")

    random = np.random.default_rng(0)
    data = random.standard_normal((BLOCKS * ROWS, TILES * SIZE)).astype(ml_dtypes.bfloat16)
    weight_data = random.standard_normal((TILES * SIZE, SIZE)).astype(ml_dtypes.bfloat16)
    return Program(
        graph,
        inputs={"x": data, "weight": weight_data},
        expected={"output": data.astype(np.float64) @ weight_data.astype(np.float64)},
        tolerance=1e-5,  # FP32 accumulation
        fabric=FabricConfig(matmul_lanes=16, link_bytes=32, memory=MemoryConfig(beat_bytes=16)),
    )
