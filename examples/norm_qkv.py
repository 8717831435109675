"""RMSNorm and the projections behind it, q, k, v = norm(x) (Wq, Wk, Wv), with fewer heads of k and v than of q.

The weights are read from memory once, and stay on chip: every tile of rows ``[ROWS, hidden]`` reads them there.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from step import BF16, FP32, FabricConfig, Graph, MemoryConfig, Program, Stream, Tensor
from step.functions import Add, Cast, Matmul, Mul, RetileCol, RetileStreamify, RowSum, Rsqrt, Scale

EPSILON = 1e-5


def rms_norm(graph: Graph, x: Stream, scale: Tensor) -> Stream:
    """x / sqrt(mean(x^2) + EPSILON) * scale on rows ``[rows, hidden]``, rounded to BF16."""
    _, hidden = (int(extent) for extent in scale.shape)
    squares = x.map(Mul(out=FP32), x, name="squares").map(RowSum(), name="sum_of_squares")
    mean = squares.map(Scale(1 / hidden), name="mean")
    epsilon = graph.constant(EPSILON, dtype=FP32, reference=x, name="epsilon")
    factor = mean.map(Add(), epsilon, name="mean_above_zero").map(Rsqrt(), name="factor")
    weights = on_chip(graph, scale, x, rows=1, columns=hidden, name="norm").flatten(0, 2, name="norm_weights")
    normed: Stream = x.map(Mul(out=FP32), factor, name="unit").map(Mul(out=BF16), weights, name="normed")
    return normed


def on_chip(graph: Graph, tensor: Tensor, x: Stream, *, rows: int, columns: int, name: str) -> Stream:
    """All tiles [rows, columns] of ``tensor``, column by column, once for every element of ``x``."""
    steps, blocks = (int(extent) // size for extent, size in zip(tensor.shape, (rows, columns), strict=True))
    tiles = graph.load(tensor, tile=(rows, columns), out=(blocks, steps), stride=(1, blocks), name=f"load_{name}")
    again: Stream = tiles.bufferize(rank=2, name=f"held_{name}").streamify(x, name=f"{name}_again")
    return again


def project(graph: Graph, x: Stream, weight: Tensor, *, depth: int, columns: int) -> Stream:
    """x @ weight on rows ``[rows, hidden]``, rounded to BF16; the weight in tiles [depth, columns]."""
    name, blocks = weight.name, int(weight.shape[1]) // columns
    pieces = x.repeat(blocks, name=f"{name}_x").flat_map(RetileStreamify(depth, "col", rank=1), name=f"{name}_pieces")
    weights = on_chip(graph, weight, x, rows=depth, columns=columns, name=name)
    product = pieces.accum(Matmul(), weights, name=f"{name}_product").map(Cast(BF16), name=f"{name}_rounded")
    packed: Stream = product.accum(RetileCol(), name=f"{name}_packed")
    return packed


def reference(x: np.ndarray, weights: dict[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """q, k and v in float64 with bounds on the error of the BF16 program.

    Two roundings to BF16, of the normed rows and of the result, are at most 2^-9 of each value; the rest (FP32 sums,
    the table of the root) is well below a tenth of that.
    """
    exact = {name: value.astype(np.float64) for name, value in weights.items()}
    rows = x.astype(np.float64)
    normed = rows / np.sqrt((rows**2).mean(axis=1, keepdims=True) + EPSILON) * exact["norm"]
    found = {}
    for name in ("q", "k", "v"):
        result = normed @ exact[f"w{name}"]
        found[name] = result, 1.1 * 2**-9 * (np.abs(normed) @ np.abs(exact[f"w{name}"]) + np.abs(result))
    return found


def program(
    tokens: int = 8,
    hidden: int = 64,
    heads: int = 4,
    groups: int = 2,
    head: int = 16,
    *,
    rows: int = 4,
    depth: int = 16,
    columns: int = 16,
) -> Program:
    """The norm and the projections of ``tokens`` rows: ``heads`` heads of q, and ``groups`` of k and v."""
    graph = Graph("norm_qkv")
    x = graph.load(graph.tensor("x", (tokens, hidden), BF16), tile=(rows, hidden), name="load_x")
    normed = rms_norm(graph, x.flatten(0, 1, name="rows"), graph.tensor("norm", (1, hidden), BF16))

    random = np.random.default_rng(0)
    data = {
        "x": 3 * random.standard_normal((tokens, hidden)),
        "norm": 1 + random.standard_normal((1, hidden)) / 4,
    }
    for name, count in (("q", heads), ("k", groups), ("v", groups)):
        weight = graph.tensor(f"w{name}", (hidden, count * head), BF16)
        data[weight.name] = random.standard_normal((hidden, count * head)) / np.sqrt(hidden)
        projected = project(graph, normed, weight, depth=depth, columns=columns)
        projected.flat_map(RetileStreamify(1, "row"), name=f"{name}_rows").store(name)

    inputs = {name: value.astype(ml_dtypes.bfloat16) for name, value in data.items()}
    expected = reference(inputs["x"], inputs)
    return Program(
        graph,
        inputs=inputs,
        expected={name: result for name, (result, _) in expected.items()},
        tolerance=float(max(bound.max() / np.abs(result).max() for result, bound in expected.values())),
        fabric=FabricConfig(link_bytes=32, matmul_lanes=32, memory=MemoryConfig(beat_bytes=32)),
    )
