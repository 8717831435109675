"""A SwiGLU mixture of experts, routed by a real Mixtral trace: 64 tokens, 8 experts, two experts a token.

The batch is routed row by row; every expert packs its rows into tiles (padded, or of dynamic size), reads its weights
once per tile, and returns rows, which are weighted, gathered in token order and summed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def packed(rows: Stream, tile_rows: int, prefix: str) -> tuple[Stream, Stream]:
    """Rows [n] in tiles of ``tile_rows`` rows, the last one padded; and which of their rows are no padding."""
    chunks, padding = rows.reshape(tile_rows, name=f"{prefix}chunks")
    tiles = chunks.accum(RetileRow(), name=f"{prefix}tiles")
    return tiles, padding.flatten(0, 1, name=f"{prefix}flags").map(SelectValid(), name=f"{prefix}keep")


def unpacked(tiles: Stream, keep: Stream, rows: Stream, prefix: str) -> Stream:
    """The rows [n] of tiles, without those that are padding."""
    split = tiles.flat_map(RetileStreamify(1, "row"), name=f"{prefix}rows")
    (kept,) = split.partition(keep, targets=1, name=f"{prefix}kept")
    result: Stream = kept.assume_shape(rows.shape)
    return result


def padded_expert(graph: Graph, rows: Stream, weights: Weights, tile_rows: int, step: int, prefix: str) -> Stream:
    """An expert on tiles of ``tile_rows`` rows, the last one padded; [n] rows -> [n] rows."""
    tiles, keep = packed(rows, tile_rows, prefix)
    y = expert(graph, tiles, weights, depth=step, columns=step, prefix=prefix)
    # The flags of several tiles wait while these are in the expert's pipeline.
    return unpacked(y, keep.buffered(8 * tile_rows), rows, prefix)


def dynamic_expert(graph: Graph, rows: Stream, weights: Weights, tile_rows: int, step: int, prefix: str) -> Stream:
    """An expert on one tile of as many rows as there are; [n] rows -> [n] rows."""
    tile = rows.promote(name=f"{prefix}promoted").accum(RetileRow(), name=f"{prefix}tile")
    y = expert(graph, tile, weights, depth=step, columns=step, prefix=prefix)
    result: Stream = y.flat_map(RetileStreamify(1, "row"), name=f"{prefix}rows").assume_shape(rows.shape)
    return result


def mixture(graph: Graph, trace: np.ndarray, hidden: int, experts: Callable[[Sequence[Stream]], list[Stream]]) -> None:
    """Route the rows of x as ``trace`` [tokens, k] says, and sum up what the ``experts`` make of their rows."""
    tokens, chosen = trace.shape
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
    for number, (y, row_scores) in enumerate(zip(experts(routed), scores, strict=True)):
        matching = row_scores.assume_shape(y.shape).buffered(room)
        weighted.append(y.map(Mul(), matching, name=f"expert{number}_weighted").buffered(room))
    gathered = graph.reassemble(weighted, routing.buffered(room), name="gather")
    gathered.accum(Add(), name="sum").store("output")


def build(
    trace: np.ndarray, *, hidden: int = 64, inner: int = 64, tile_rows: int = 4, step: int = 16, dynamic: bool = False
) -> Program:
    """The program for ``trace`` [tokens, k], with dimensions that are multiples of ``step``.

    ``tile_rows * hidden`` may be at most the fabric's T x T.
    """
    graph = Graph("moe_mixtral_dynamic" if dynamic else "moe_mixtral")
    prefixes = [f"expert{number}_" for number in range(EXPERTS)]

    def experts(routed: Sequence[Stream]) -> list[Stream]:
        make = dynamic_expert if dynamic else padded_expert
        return [
            make(graph, rows, Weights.declare(graph, prefix, hidden, inner), tile_rows, step, prefix)
            for rows, prefix in zip(routed, prefixes, strict=True)
        ]

    def tensors(weights: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        return {
            f"{prefix}{name}": each
            for prefix, of_expert in zip(prefixes, weights, strict=True)
            for name, each in of_expert.items()
        }

    mixture(graph, trace, hidden, experts)
    return with_data(graph, trace, hidden, inner, tensors)


def with_data(
    graph: Graph,
    trace: np.ndarray,
    hidden: int,
    inner: int,
    tensors: Callable[[Sequence[dict[str, np.ndarray]]], dict[str, np.ndarray]],
) -> Program:
    """Random activations and weights for the traced routing, and the float64 result.

    ``tensors`` makes the tensors that the graph declares of the weights of the experts.
    """
    random = np.random.default_rng(0)
    tokens = len(trace)
    data = random.standard_normal((tokens, hidden)).astype(ml_dtypes.bfloat16)
    score = random.dirichlet(np.ones(trace.shape[1]), tokens).astype(ml_dtypes.bfloat16)
    weights = [random_weights(random, hidden, inner) for _ in range(EXPERTS)]
    expected = np.zeros((tokens, hidden))
    bound = np.zeros((tokens, hidden))
    for number, of_expert in enumerate(weights):
        rows, slots = np.nonzero(trace == number)
        result, error = reference(data[rows], of_expert)
        factor = score[rows, slots].astype(np.float64)[:, None]
        expected[rows] += factor * result
        bound[rows] += factor * error
    return Program(
        graph,
        {"routing": trace, "choice": trace.reshape(-1), "x": data, "score": score, **tensors(weights)},
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
