"""The simplified mixture of experts: ten rows, two experts, each a [16, 64] weight read in [16, 16] tiles."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from step import BF16, FabricConfig, Graph, MemoryConfig, Program, Stream, Tensor
from step.functions import Matmul, RetileCol, RetileRow, RetileStreamify, SelectValid

TOKENS, ROWS = 10, 4


def expert(graph: Graph, rows: Stream, weight: Tensor, prefix: str) -> Stream:
    """x @ weight on a stream [n] of rows [1, 16] -> [n] of rows [1, 64]."""
    hidden, inner = (int(extent) for extent in weight.shape)
    # Four rows make a tile; the last tile is padded.
    chunks, padding = rows.reshape(ROWS, name=f"{prefix}_chunks")
    tiles = chunks.accum(RetileRow(), name=f"{prefix}_tiles")
    # The weight is read once per tile, in four tiles along its columns.
    weights = graph.load(weight, tile=(hidden, hidden), out=(inner // hidden,), reference=tiles, name=f"{prefix}_load")
    repeated = tiles.reshape(1, name=f"{prefix}_alone")[0].expand(weights, name=f"{prefix}_repeated")
    columns = repeated.map(Matmul(out=BF16), weights, name=f"{prefix}_product")
    packed = columns.accum(RetileCol(), name=f"{prefix}_packed")
    # Back to rows; padding rows select nothing and are dropped.
    keep = padding.flatten(0, 1, name=f"{prefix}_flags").map(SelectValid(), name=f"{prefix}_keep")
    split = packed.flat_map(RetileStreamify(1, "row"), name=f"{prefix}_rows")
    (kept,) = split.partition(keep, targets=1, name=f"{prefix}_kept")
    result: Stream = kept.assume_shape(rows.shape)
    return result


def program(name: str = "moe_simple", hidden: int = 16, inner: int = 64) -> Program:
    """Two experts on ten rows, one expert a row."""
    graph = Graph(name)
    routing = graph.selectors("routing", 2, [TOKENS])
    x = graph.load(graph.tensor("x", (TOKENS, hidden), BF16), tile=(1, hidden), name="load_x").flatten(
        0, 2, name="rows"
    )
    routed = x.partition(routing, targets=2, name="route")
    weights = [graph.tensor(f"weight{number}", (hidden, inner), BF16) for number in range(2)]
    results = [
        # An expert waits for four rows, so results of the other one must find room meanwhile.
        expert(graph, rows, weight, f"expert{number}").buffered(TOKENS + 1)
        for number, (rows, weight) in enumerate(zip(routed, weights, strict=True))
    ]
    gathered = graph.reassemble(results, routing.buffered(TOKENS + 1), name="gather")
    gathered.flatten(0, 1, name="in_order").store("output")

    random = np.random.default_rng(0)
    choice = random.integers(0, 2, TOKENS)
    data = random.standard_normal((TOKENS, hidden)).astype(ml_dtypes.bfloat16)
    weight_data = [random.standard_normal((hidden, inner)).astype(ml_dtypes.bfloat16) for _ in range(2)]
    exact = [data.astype(np.float64) @ weight.astype(np.float64) for weight in weight_data]
    expected = np.stack([exact[chosen][row] for row, chosen in enumerate(choice)])
    return Program(
        graph,
        inputs={"routing": choice, "x": data, "weight0": weight_data[0], "weight1": weight_data[1]},
        expected={"output": expected},
        tolerance=2**-8,  # one rounding to BF16 (2^-9), and FP32 accumulation far below that
    )


def small() -> Program:
    """The same with weights [4, 16], on a fabric that an FPGA has room for."""
    made = program("moe_small", hidden=4, inner=16)
    made.fabric = FabricConfig(matmul_lanes=4, vector_lanes=4, memory=MemoryConfig(beat_bytes=8))
    return made
