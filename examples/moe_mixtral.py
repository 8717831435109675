"""A SwiGLU mixture of experts, routed by a real Mixtral trace: 64 tokens, 8 experts, two experts a token.

The batch is routed row by row; every expert packs its rows into tiles (padded, or of dynamic size), reads its weights
once per tile, and returns rows, which are weighted, gathered in token order and summed.
"""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
from swiglu import Weights, expert, random_weights, reference

from step import BF16, FabricConfig, Graph, Program, Stream
from step.errors import FormatError
from step.functions import Add, Mul, RetileRow, RetileStreamify, SelectValid

EXPERTS = 8
TRACE = Path(__file__).parent / "data" / "mixtral_b64.npz"


def read_trace(path: Path, experts: int) -> np.ndarray:
    """Expert ids per token, [tokens, k]; raises `FormatError` for a file of another form."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = dict(archive)
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} is no .npz file with a trace: {error}") from None
    if "data" not in arrays:
        raise FormatError(f"{path} must have an array 'data', not {', '.join(arrays) or 'nothing'}")
    trace = arrays["data"]
    if trace.ndim != 2 or trace.dtype.kind not in "iu":
        raise FormatError(f"{path}: 'data' must be integers [tokens, k], not {trace.dtype} {list(trace.shape)}")
    if trace.size and not 0 <= trace.min() <= trace.max() < experts:
        raise FormatError(f"{path}: expert ids must be 0 to {experts - 1}, but go from {trace.min()} to {trace.max()}")
    return trace


def padded_expert(graph: Graph, rows: Stream, weights: Weights, tile_rows: int, step: int, prefix: str) -> Stream:
    """An expert on tiles of ``tile_rows`` rows, the last one padded; [n] rows -> [n] rows."""
    chunks, padding = rows.reshape(tile_rows, name=f"{prefix}chunks")
    tiles = chunks.accum(RetileRow(), name=f"{prefix}tiles")
    y = expert(graph, tiles, weights, depth=step, columns=step, prefix=prefix)
    split = y.flat_map(RetileStreamify(1, "row"), name=f"{prefix}rows")
    keep = padding.flatten(0, 1, name=f"{prefix}flags").map(SelectValid(), name=f"{prefix}keep")
    # The flags of several tiles wait while these are in the expert's pipeline.
    (kept,) = split.partition(keep.buffered(8 * tile_rows), targets=1, name=f"{prefix}kept")
    result: Stream = kept.assume_shape(rows.shape)
    return result


def dynamic_expert(graph: Graph, rows: Stream, weights: Weights, tile_rows: int, step: int, prefix: str) -> Stream:
    """An expert on one tile of as many rows as there are; [n] rows -> [n] rows."""
    tile = rows.promote(name=f"{prefix}promoted").accum(RetileRow(), name=f"{prefix}tile")
    y = expert(graph, tile, weights, depth=step, columns=step, prefix=prefix)
    result: Stream = y.flat_map(RetileStreamify(1, "row"), name=f"{prefix}rows").assume_shape(rows.shape)
    return result


def build(
    trace: np.ndarray, *, hidden: int = 64, inner: int = 64, tile_rows: int = 4, step: int = 16, dynamic: bool = False
) -> Program:
    """The program for ``trace`` [tokens, k], with dimensions that are multiples of ``step``.

    ``tile_rows * hidden`` may be at most the fabric's T x T.
    """
    tokens, chosen = trace.shape
    graph = Graph("moe_mixtral_dynamic" if dynamic else "moe_mixtral")
    routing = graph.selectors("routing", EXPERTS, [tokens])
    choice = graph.selectors("choice", EXPERTS, [tokens * chosen])
    x = graph.load(graph.tensor("x", (tokens, hidden), BF16), tile=(1, hidden), name="load_x").flatten(
        0, 2, name="rows"
    )
    score = graph.load(graph.tensor("score", (tokens, chosen), BF16), tile=(1, 1), name="load_score")
    scores = score.flatten(0, 2, name="scores").partition(choice, targets=EXPERTS, name="route_scores")
    routed = x.partition(routing, targets=EXPERTS, name="route")

    # An expert waits until it has a tile of rows, and tokens leave in order: meanwhile all others must find room.
    room = tokens + 1  # Done takes a slot, too
    weighted = []
    for number, (rows, row_scores) in enumerate(zip(routed, scores, strict=True)):
        prefix = f"expert{number}_"
        weights = Weights.declare(graph, prefix, hidden, inner)
        y = (dynamic_expert if dynamic else padded_expert)(graph, rows, weights, tile_rows, step, prefix)
        matching = row_scores.assume_shape(rows.shape).buffered(room)
        weighted.append(y.map(Mul(), matching, name=f"{prefix}weighted").buffered(room))
    gathered = graph.reassemble(weighted, routing.buffered(room), name="gather")
    gathered.accum(Add(), name="sum").store("output")
    return _with_data(graph, trace, hidden, inner)


def _with_data(graph: Graph, trace: np.ndarray, hidden: int, inner: int) -> Program:
    """Random weights and activations for the traced routing, and the float64 result."""
    random = np.random.default_rng(0)
    tokens = len(trace)
    data = random.standard_normal((tokens, hidden)).astype(ml_dtypes.bfloat16)
    score = random.dirichlet(np.ones(trace.shape[1]), tokens).astype(ml_dtypes.bfloat16)
    inputs = {"routing": trace, "choice": trace.reshape(-1), "x": data, "score": score}
    expected = np.zeros((tokens, hidden))
    bound = np.zeros((tokens, hidden))
    for number in range(EXPERTS):
        weights = random_weights(random, hidden, inner)
        inputs |= {f"expert{number}_{name}": each for name, each in weights.items()}
        rows, slots = np.nonzero(trace == number)
        result, error = reference(data[rows], weights)
        factor = score[rows, slots].astype(np.float64)[:, None]
        expected[rows] += factor * result
        bound[rows] += factor * error
    return Program(
        graph,
        inputs,
        FabricConfig(),
        expected={"output": expected},
        tolerance=float(bound.max() / np.abs(expected).max()),
    )


def program() -> Program:
    """Static tiles: runs on all back ends."""
    return build(read_trace(TRACE, EXPERTS))


def dynamic() -> Program:
    """One tile of dynamic size per expert: weights are read once. For the interpreter and the metrics."""
    return build(read_trace(TRACE, EXPERTS), dynamic=True)
