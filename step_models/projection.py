"""RMSNorm, LayerNorm and projections with a weight: of queries, keys and values, and of the output of attention."""

from __future__ import annotations

from typing import Literal

import numpy as np

from step import BF16, FP32, FabricConfig, Graph, Program, Stream, Tensor, Tile
from step.functions import (
    Add,
    Cast,
    Matmul,
    Mul,
    MulAdd,
    RetileCol,
    RetileRow,
    RetileStreamify,
    RowSum,
    Rsqrt,
    Scale,
    Sub,
)
from step.language.fused import Sum
from step_models.checking import require, workload
from step_models.division import check_divides
from step_models.weights import Data, finished, normal, projection


def rms_norm(graph: Graph, x: Stream, scale: Tensor, epsilon: float, *, prefix: str = "") -> Stream:
    """x / sqrt(mean(x^2) + epsilon) * scale on tiles ``[rows, hidden]``, rounded to BF16; ``scale`` is [1, hidden]."""
    _, hidden = (int(extent) for extent in scale.shape)
    squares = x.map(Mul(out=FP32), x, name=f"{prefix}squares").map(RowSum(), name=f"{prefix}sum_of_squares")
    mean = squares.map(Scale(1 / hidden), name=f"{prefix}mean")
    above = graph.constant(epsilon, dtype=FP32, reference=x, name=f"{prefix}epsilon")
    factor = mean.map(Add(), above, name=f"{prefix}mean_above_zero").map(Rsqrt(), name=f"{prefix}factor")
    weights = held_tile(graph, scale, x, name=f"{prefix}norm")
    return x.map(Mul(out=FP32), factor, name=f"{prefix}unit").map(Mul(out=BF16), weights, name=f"{prefix}normed")


def layer_norm(graph: Graph, x: Stream, scale: Tensor, bias: Tensor, epsilon: float, *, prefix: str = "") -> Stream:
    """(x - mean(x)) / sqrt(variance(x) + epsilon) * scale + bias on tiles ``[rows, hidden]``, rounded to BF16.

    ``scale`` and ``bias`` are [1, hidden].
    """
    unit = standardized(graph, x, epsilon, prefix=prefix)
    weights, shift = (held_tile(graph, each, x, name=f"{prefix}{each.name}") for each in (scale, bias))
    return unit.map(MulAdd(out=BF16), weights, shift, name=f"{prefix}normed")


def standardized(graph: Graph, x: Stream, epsilon: float, *, prefix: str = "") -> Stream:
    """(x - mean(x)) / sqrt(variance(x) + epsilon) on static tiles ``[rows, hidden]``, in FP32.

    The variance is that of what the mean was taken from.
    """
    assert isinstance(x.element, Tile)
    hidden = int(x.element.cols)
    mean = x.map(RowSum(), name=f"{prefix}sum").map(Scale(1 / hidden), name=f"{prefix}mean")
    centred = x.map(Sub(out=FP32), mean, name=f"{prefix}centred")
    squares = centred.map(Mul(), centred, name=f"{prefix}squares").map(RowSum(), name=f"{prefix}sum_of_squares")
    variance = squares.map(Scale(1 / hidden), name=f"{prefix}variance")
    above = graph.constant(epsilon, dtype=FP32, reference=x, name=f"{prefix}epsilon")
    factor = variance.map(Add(), above, name=f"{prefix}variance_above_zero").map(Rsqrt(), name=f"{prefix}factor")
    return centred.map(Mul(), factor, name=f"{prefix}unit")


def held_tile(graph: Graph, tensor: Tensor, x: Stream, *, name: str) -> Stream:
    """All of ``tensor`` as one tile for every element of ``x`` [1, n]; it is read from memory once."""
    rows, columns = (int(extent) for extent in tensor.shape)
    held = on_chip(graph, tensor, x, rows=rows, columns=columns, name=name)
    return held.flatten(0, 2, name=f"{name}_weights")


def on_chip(graph: Graph, tensor: Tensor, x: Stream, *, rows: int, columns: int, name: str) -> Stream:
    """All tiles [rows, columns] of ``tensor``, column by column, once for every element of ``x`` [1, n].

    They are read from memory once.
    """
    steps, blocks = (int(extent) // size for extent, size in zip(tensor.shape, (rows, columns), strict=True))
    tiles = graph.load(tensor, tile=(rows, columns), out=(blocks, steps), stride=(1, blocks), name=f"load_{name}")
    return tiles.bufferize(rank=2, name=f"held_{name}").streamify(x, name=f"{name}_again")


def project(
    graph: Graph, x: Stream, weight: Tensor, *, depth: int, columns: int, held: bool = True, sum: Sum = "ordered"
) -> Stream:
    """x @ weight on tiles ``[rows, hidden]``, rounded to BF16; the weight in tiles [depth, columns].

    ``held``: it is read once and stays on chip; else it is read for every tile of ``x``. ``sum`` is that of the
    products.
    """
    name, blocks, steps = weight.name, int(weight.shape[1]) // columns, int(weight.shape[0]) // depth
    repeated = x.repeat(blocks, name=f"{name}_x")
    if held:
        weights = on_chip(graph, weight, x, rows=depth, columns=columns, name=name)
    else:
        weights = graph.load(
            weight, tile=(depth, columns), out=(blocks, steps), stride=(1, blocks), reference=x, name=f"load_{name}"
        )
    if steps == 1:
        whole = weights.flatten(0, 1, name=f"{name}_blocks")
        rounded = repeated.map(Matmul(out=BF16, sum=sum), whole, name=f"{name}_product")
    else:
        pieces = repeated.flat_map(RetileStreamify(depth, "col", rank=1), name=f"{name}_pieces")
        rounded = pieces.accum(Matmul(sum=sum), weights, name=f"{name}_product").map(Cast(BF16), name=f"{name}_rounded")
    return rounded.accum(RetileCol(), name=f"{name}_packed")


def tiles_of_rows(x: Stream, rows: int, *, name: str) -> Stream:
    """Rows [n] in tiles of ``rows`` rows [n / rows]; n is a multiple of that."""
    return x.reshape(rows, name=f"{name}_chunks")[0].accum(RetileRow(), name=f"{name}_tiles")


def batch_of_rows(x: Stream, rows: int, *, name: str) -> Stream:
    """The same as one batch [1, n / rows], for what is read once and stays on chip for all of it."""
    tiles = tiles_of_rows(x, rows, name=name)
    return tiles.reshape(int(tiles.shape[0]), name=f"{name}_batch")[0]


def rows_of_tiles(tiles: Stream, *, name: str) -> Stream:
    """The rows [n] of tiles."""
    return tiles.flat_map(RetileStreamify(1, "row"), name=f"{name}_rows")


def columns_of_tiles(tiles: Stream, columns: int, *, name: str) -> Stream:
    """The pieces of tiles that have so many columns, one after the other, such as heads."""
    if isinstance(tiles.element, Tile) and int(tiles.element.cols) == columns:
        return tiles
    return tiles.flat_map(RetileStreamify(columns, "col"), name=f"{name}_heads")


def norm_reference(x: np.ndarray, scale: np.ndarray, epsilon: float) -> np.ndarray:
    """RMSNorm in float64 on rows ``x``."""
    rows = x.astype(np.float64)
    return rows / np.sqrt((rows**2).mean(axis=1, keepdims=True) + epsilon) * scale.astype(np.float64)


def layer_norm_reference(x: np.ndarray, scale: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    """LayerNorm in float64 on rows ``x``."""
    rows = x.astype(np.float64)
    centred = rows - rows.mean(axis=1, keepdims=True)
    unit = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + epsilon)
    return unit * scale.astype(np.float64) + bias.astype(np.float64)


def reference(normed: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """normed @ weight in float64, and a bound on the error of the BF16 program per element.

    Two roundings to BF16, of the rows and of the result, are at most 2^-9 of each value; the rest (FP32 sums, the table
    of the root in a norm) is well below a tenth of that.
    """
    exact = weight.astype(np.float64)
    result = normed @ exact
    return result, 1.1 * 2**-9 * (np.abs(normed) @ np.abs(exact) + np.abs(result))


@workload
def program(
    tokens: int = 8,
    hidden: int = 64,
    heads: int = 4,
    groups: int = 2,
    head: int = 16,
    *,
    rows: int = 4,
    depth: int | None = None,
    columns: int = 16,
    held: bool = True,
    sum: Sum = "ordered",
    epsilon: float = 1e-5,
    norm: Literal["rms", "layer"] = "rms",
    fabric: FabricConfig | None = None,
    values: bool = True,
    name: str = "qkv",
) -> Program:
    """A norm and the projections behind it, of ``tokens`` rows: ``heads`` heads of q, and ``groups`` of k and v.

    q, k, v = norm(x) (Wq, Wk, Wv); the ``norm`` is RMSNorm, or LayerNorm with a bias. Tiles have ``rows`` rows, those
    of weights are [depth, columns]; ``depth`` is all of ``hidden`` unless given. ``held`` and ``sum`` as in `project`.
    Without ``fabric`` it is the smallest one of the published evaluation's kind that has room for the tiles. Without
    ``values`` all data is zeros, which take no memory, and nothing is expected. Raises `InputError` for sizes that do
    not divide.
    """
    graph, tiles, depth = _begun(name, tokens, hidden, rows, depth)
    require(0 <= epsilon < np.inf, f"the epsilon of a norm must be a number >= 0, not {epsilon}")
    for count in (heads, groups):
        check_divides("columns, the extent of a weight tile along the heads,", columns, "heads * head", count * head)
    scale = graph.tensor("norm", (1, hidden), BF16)
    if norm == "layer":
        normed = layer_norm(graph, tiles, scale, graph.tensor("bias", (1, hidden), BF16), epsilon)
    else:
        normed = rms_norm(graph, tiles, scale, epsilon)
    counts = {"q": heads, "k": groups, "v": groups}
    for each, count in counts.items():
        weight = graph.tensor(f"w{each}", (hidden, count * head), BF16)
        projected = project(graph, normed, weight, depth=depth, columns=columns, held=held, sum=sum)
        rows_of_tiles(projected, name=each).store(each)

    def data(random: np.random.Generator) -> Data:
        inputs = {"x": normal(random, tokens, hidden, deviation=3), "norm": random_scale(random, hidden)}
        inputs |= {f"w{each}": projection(random, hidden, count * head) for each, count in counts.items()}
        if norm == "layer":
            inputs["bias"] = normal(random, 1, hidden)
            exact = layer_norm_reference(inputs["x"], inputs["norm"], inputs["bias"], epsilon)
        else:
            exact = norm_reference(inputs["x"], inputs["norm"], epsilon)
        return inputs, {each: reference(exact, inputs[f"w{each}"]) for each in counts}

    return finished(graph, fabric, data if values else None)


@workload
def output_program(
    tokens: int = 8,
    hidden: int = 64,
    heads: int = 4,
    head: int = 16,
    *,
    rows: int = 4,
    depth: int | None = None,
    columns: int = 16,
    held: bool = True,
    sum: Sum = "ordered",
    fabric: FabricConfig | None = None,
    values: bool = True,
    name: str = "output_projection",
) -> Program:
    """The projection of the results of attention, [tokens, heads * head], to [tokens, hidden]; else as `program`."""
    inner = heads * head
    graph, tiles, depth = _begun(name, tokens, inner, rows, depth)
    check_divides("columns, the extent of a weight tile along hidden,", columns, "hidden", hidden)
    weight = graph.tensor("wo", (inner, hidden), BF16)
    projected = project(graph, tiles, weight, depth=depth, columns=columns, held=held, sum=sum)
    rows_of_tiles(projected, name="o").store("o")

    def data(random: np.random.Generator) -> Data:
        inputs = {"x": normal(random, tokens, inner), "wo": projection(random, inner, hidden)}
        return inputs, {"o": reference(inputs["x"].astype(np.float64), inputs["wo"])}

    return finished(graph, fabric, data if values else None)


def random_scale(random: np.random.Generator, hidden: int) -> np.ndarray:
    """The scale of a norm [1, hidden], around one."""
    return (1 + random.standard_normal((1, hidden)) / 4).astype(BF16.numpy)


def _begun(name: str, tokens: int, inner: int, rows: int, depth: int | None) -> tuple[Graph, Stream, int]:
    """A graph with ``tokens`` rows x of ``inner`` scalars, in tiles of ``rows``; and the extent of a weight tile."""
    depth = inner if depth is None else depth
    require(tokens >= 1, f"there must be at least one token, not {tokens}")
    check_divides("rows, the rows of a tile,", rows, "tokens", tokens)
    check_divides("depth, the extent of a weight tile along its rows,", depth, "the columns of x", inner)
    graph = Graph(name)
    x = graph.load(graph.tensor("x", (tokens, inner), BF16), tile=(rows, inner), name="load_x")
    return graph, x.flatten(0, 1, name="rows"), depth
