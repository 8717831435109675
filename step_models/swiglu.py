"""A SwiGLU expert, y = (silu(x Wg) * (x Wu)) Wd.

A tile of x is ``[rows, hidden]``. The weights stream by in tiles of ``[depth, columns]`` (gate and up) and ``[columns,
depth]`` (down), and the loops over them are dimensions of the streams. With ``depth`` all of ``hidden`` a tile of x is
multiplied as it is: one pass over the columns of gate and up, and the rows of down.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from step import BF16, FabricConfig, Graph, Program, Stream, Tile
from step.functions import Add, Matmul, Mul, RetileCol, RetileStreamify, Silu
from step.language.fused import Sum
from step_models.checking import require, workload
from step_models.division import check_divides
from step_models.weights import Data, finished, normal, projection


def shapes(hidden: int, inner: int) -> dict[str, tuple[int, int]]:
    """Shapes of the weights of an expert, in their order."""
    return {"gate": (hidden, inner), "up": (hidden, inner), "down": (inner, hidden)}


def check_tiles(hidden: int, inner: int, depth: int, columns: int) -> None:
    """Raise `InputError` for weight tiles that do not divide the weights."""
    check_divides("depth, the extent of a weight tile along hidden,", depth, "hidden", hidden)
    check_divides("columns, the extent of a weight tile along inner,", columns, "inner", inner)


def expert(
    graph: Graph,
    x: Stream,
    hidden: int,
    inner: int,
    *,
    depth: int,
    columns: int,
    sum: Sum = "ordered",
    prefix: str = "",
) -> Stream:
    """The expert on tiles ``[rows, hidden]`` of ``x``, a stream [tiles] -> [tiles] of FP32 tiles ``[rows, hidden]``.

    Its weights are tensors of `shapes`, which are read once per tile: gate and up in tiles of [depth, columns], down in
    [columns, depth]. ``sum`` is that of the products.
    """
    steps, blocks = hidden // depth, inner // columns
    tensors = {name: graph.tensor(f"{prefix}{name}", each, BF16) for name, each in shapes(hidden, inner).items()}

    def load(name: str, tile: tuple[int, int], stride: tuple[int, int]) -> Stream:
        return graph.load(
            tensors[name], tile=tile, out=(blocks, steps), stride=stride, reference=x, name=f"{prefix}load_{name}"
        )

    gate, up = (load(name, (depth, columns), (1, blocks)) for name in ("gate", "up"))
    return feed_forward(x, (gate, up, load("down", (columns, depth), (steps, 1))), sum=sum, prefix=prefix)


def feed_forward(
    x: Stream, weights: Sequence[Stream], *, transposed: bool = False, sum: Sum = "ordered", prefix: str = ""
) -> Stream:
    """The expert on tiles ``[rows, hidden]`` of ``x``, with ``weights``, gate, up and down, that come in tiles: [..] ->
    [..] of FP32 tiles.

    For every tile of ``x`` they are [blocks of inner, blocks of hidden] tiles; those of gate and up may be
    ``transposed``. ``sum`` is that of the products. With a single block of hidden nothing is split, and the sum over
    the blocks of inner is the reduction of a matmul.
    """
    gate, up, down = weights
    blocks, steps = (int(each) for each in down.shape[-2:])
    if whole := steps == 1:
        names = (f"{prefix}{name}_blocks" for name in ("gate", "up", "down"))
        gate, up, down = (each.flatten(0, 1, name=name) for each, name in zip(weights, names, strict=True))
    project, back = Matmul(transposed, sum=sum), Matmul(sum=sum)
    rows = x.repeat(blocks, name=f"{prefix}x_repeated")
    if not whole:
        # For every block of columns of inner, go over the blocks of hidden: [.., blocks, steps] of [rows, depth].
        assert isinstance(down.element, Tile)
        rows = rows.flat_map(RetileStreamify(int(down.element.cols), "col", rank=1), name=f"{prefix}x_pieces")
    multiply = rows.map if whole else rows.accum
    gates = multiply(project, gate, name=f"{prefix}gate_projection")
    ups = multiply(project, up, name=f"{prefix}up_projection")
    state = gates.map(Silu(), name=f"{prefix}activation").map(Mul(out=BF16), ups, name=f"{prefix}gated")
    if whole:
        return state.accum(back, down, name=f"{prefix}y")

    # Each block of inner adds its part to all of hidden: [.., blocks, steps] of [rows, depth], packed to [rows,
    # hidden], summed.
    partial = state.repeat(steps, name=f"{prefix}h_repeated").map(back, down, name=f"{prefix}down_projection")
    return partial.accum(RetileCol(), name=f"{prefix}down_row").accum(Add(), name=f"{prefix}y")


def random_weights(random: np.random.Generator, hidden: int, inner: int) -> dict[str, np.ndarray]:
    """Gate, up and down."""
    return {name: projection(random, *shape) for name, shape in shapes(hidden, inner).items()}


def reference(x: np.ndarray, weights: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The expert in float64 on rows ``x``, and a bound on the error of the BF16 program per element.

    The one rounding to BF16 on the way, of the hidden state, is at most 2^-9 of each of its values; the rest (FP32
    accumulation, the tables of silu) is well below as much again, so twice that is allowed.
    """
    gate, up, down = (weights[name].astype(np.float64) for name in ("gate", "up", "down"))
    projected = x.astype(np.float64) @ gate
    state = projected / (1 + np.exp(-projected)) * (x.astype(np.float64) @ up)
    return state @ down, 2**-8 * np.abs(state) @ np.abs(down)


@workload
def program(
    batch: int = 16,
    hidden: int = 64,
    inner: int = 64,
    *,
    rows: int = 4,
    depth: int | None = None,
    columns: int = 16,
    sum: Sum = "ordered",
    fabric: FabricConfig | None = None,
    values: bool = True,
    name: str = "swiglu",
) -> Program:
    """The expert on a batch [batch, hidden], in tiles of ``rows`` rows, with weight tiles [depth, columns].

    ``depth``: all of ``hidden`` unless given. ``sum``: that of the products. Without ``fabric`` it is the smallest one
    of the published evaluation's kind that has room for the tiles. Without ``values`` all data is zeros, which take no
    memory, and nothing is expected. Raises `InputError` for sizes that do not divide.
    """
    depth = hidden if depth is None else depth
    require(batch >= 1, f"batch must be at least one row, not {batch}")
    check_divides("rows, the rows of a tile,", rows, "batch", batch)
    check_tiles(hidden, inner, depth, columns)
    graph = Graph(name)
    x = graph.load(graph.tensor("x", (batch, hidden), BF16), tile=(rows, hidden), name="load_x").flatten(0, 2)
    y = expert(graph, x, hidden, inner, depth=depth, columns=columns, sum=sum)
    y.flat_map(RetileStreamify(1, "row"), name="y_rows").store("output")

    def data(random: np.random.Generator) -> Data:
        weights, x = random_weights(random, hidden, inner), normal(random, batch, hidden)
        return {"x": x, **weights}, {"output": reference(x, weights)}

    return finished(graph, fabric, data if values else None)
