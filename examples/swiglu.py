"""One SwiGLU expert, y = (silu(x Wg) * (x Wu)) Wd, and a sweep over its tile sizes.

Everything is at the fabric's scale: a tile of rows, ``[rows, D]``, is one token; the weights stream by in tiles of
``[inner, columns]``, and the loops over them are dimensions of the streams.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from step import BF16, FabricConfig, Graph, Program, Stream, Tensor, Tile
from step.functions import Add, Matmul, Mul, RetileCol, RetileStreamify, Silu


@dataclass(frozen=True)
class Weights:
    """The three weight tensors of an expert: gate and up are [D, F], down is [F, D]."""

    gate: Tensor
    up: Tensor
    down: Tensor

    @classmethod
    def declare(cls, graph: Graph, prefix: str, hidden: int, inner: int) -> Weights:
        """Declare them as off-chip tensors of a program."""
        return cls(
            graph.tensor(f"{prefix}gate", (hidden, inner), BF16),
            graph.tensor(f"{prefix}up", (hidden, inner), BF16),
            graph.tensor(f"{prefix}down", (inner, hidden), BF16),
        )


def expert(graph: Graph, x: Stream, weights: Weights, *, depth: int, columns: int, prefix: str = "") -> Stream:
    """The expert on tiles ``[rows, D]`` of ``x``, a stream [tiles] -> [tiles] of FP32 tiles ``[rows, D]``.

    The weights are read once per tile: gate and up in tiles of [depth, columns], down in [columns, depth].
    """
    hidden, inner = weights.gate.shape
    steps, blocks = hidden // depth, inner // columns

    def load(name: str, tensor: Tensor, tile: tuple[int, int], stride: tuple[int, int]) -> Stream:
        loaded: Stream = graph.load(
            tensor, tile=tile, out=(blocks, steps), stride=stride, reference=x, name=f"{prefix}load_{name}"
        )
        return loaded

    gate = load("gate", weights.gate, (depth, columns), (1, blocks))
    up = load("up", weights.up, (depth, columns), (1, blocks))
    down = load("down", weights.down, (columns, depth), (steps, 1))
    return feed_forward(x, gate, up, down, prefix=prefix)


def feed_forward(
    x: Stream, gate: Stream, up: Stream, down: Stream, *, transposed: bool = False, prefix: str = ""
) -> Stream:
    """The expert on tiles ``[rows, D]`` of ``x``, with weights that come in tiles: [..] -> [..] of FP32 tiles.

    For every tile of ``x`` they are [blocks of F, blocks of D] tiles; those of gate and up may be ``transposed``.
    """
    blocks, steps = (int(each) for each in down.shape[-2:])
    assert isinstance(down.element, Tile)
    depth = int(down.element.cols)

    # For every block of columns of F, go over the blocks of D: [.., blocks, steps] of [rows, depth].
    pieces = x.repeat(blocks, name=f"{prefix}x_repeated").flat_map(
        RetileStreamify(depth, "col", rank=1), name=f"{prefix}x_pieces"
    )
    project = Matmul(transposed=transposed)
    gates = pieces.accum(project, gate, name=f"{prefix}gate_projection")
    ups = pieces.accum(project, up, name=f"{prefix}up_projection")
    hidden_state = gates.map(Silu(), name=f"{prefix}activation").map(Mul(out=BF16), ups, name=f"{prefix}gated")

    # Each block of F adds its part to all of D: [.., blocks, steps] of [rows, depth], packed to [rows, D], summed.
    partial = hidden_state.repeat(steps, name=f"{prefix}h_repeated").map(
        Matmul(), down, name=f"{prefix}down_projection"
    )
    summed: Stream = partial.accum(RetileCol(), name=f"{prefix}down_row").accum(Add(), name=f"{prefix}y")
    return summed


def random_weights(random: np.random.Generator, hidden: int, inner: int) -> dict[str, np.ndarray]:
    """Gate, up and down with the variance that keeps activations near one."""
    return {
        name: (random.standard_normal(shape) / np.sqrt(shape[0])).astype(ml_dtypes.bfloat16)
        for name, shape in (("gate", (hidden, inner)), ("up", (hidden, inner)), ("down", (inner, hidden)))
    }


def reference(x: np.ndarray, weights: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The expert in float64 on rows ``x``, and a bound on the error of the BF16 program per element.

    The one rounding to BF16 on the way, of the hidden state, is at most 2^-9 of each of its values; the rest (FP32
    accumulation, the tables of silu) is well below as much again, so twice that is allowed.
    """
    gate, up, down = (weights[name].astype(np.float64) for name in ("gate", "up", "down"))
    projected = x.astype(np.float64) @ gate
    state = projected / (1 + np.exp(-projected)) * (x.astype(np.float64) @ up)
    return state @ down, 2**-8 * np.abs(state) @ np.abs(down)


def program(
    batch: int = 16, hidden: int = 64, inner: int = 64, rows: int = 4, depth: int = 16, columns: int = 16
) -> Program:
    """The expert on a batch [batch, hidden], in tiles of ``rows`` rows."""
    graph = Graph(f"swiglu_rows{rows}_columns{columns}")
    x = graph.load(graph.tensor("x", (batch, hidden), BF16), tile=(rows, hidden), name="load_x").flatten(0, 2)
    y = expert(graph, x, Weights.declare(graph, "", hidden, inner), depth=depth, columns=columns)
    y.flat_map(RetileStreamify(1, "row"), name="y_rows").store("output")

    random = np.random.default_rng(0)
    weights = random_weights(random, hidden, inner)
    data = random.standard_normal((batch, hidden)).astype(ml_dtypes.bfloat16)
    expected, bound = reference(data, weights)
    return Program(
        graph,
        inputs={"x": data, **weights},
        fabric=FabricConfig(),
        expected={"output": expected},
        tolerance=float(bound.max() / np.abs(expected).max()),
    )


def sweep() -> list[Program]:
    """Row tiles of 1, 2 and 4 rows, times weight tiles of 8 and 16 columns: fewer rows read the weights more often."""
    return [program(rows=rows, columns=columns) for rows in (1, 2, 4) for columns in (8, 16)]
