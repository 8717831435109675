"""Attention of tiles: sums of the weighted values, and of the weights, of every sequence.

Streams of keys and values are [n, tiles], and results [n], tiles [group, size] and [group, 1]: their quotient is what
attention gives.
"""

from __future__ import annotations

from step import BF16, FP32, Stream
from step.functions import (
    Add,
    Exp,
    Matmul,
    Max,
    MulAdd,
    RetileRow,
    RetileStreamify,
    RowMax,
    RowSum,
    Scale,
    Sub,
    Tanh,
    Transpose,
)
from step.language.fused import Sum


def scaled(product: Stream, scale: float | None, prefix: str) -> Stream:
    """Scores of products of queries and keys; they are the scores where ``scale`` is None."""
    return product if scale is None else product.map(Scale(scale), name=f"{prefix}score")


def capped(score: Stream, cap: float | None, prefix: str) -> Stream:
    """``cap`` * tanh(score / ``cap``), which is never larger; the score itself where there is none."""
    if cap is None:
        return score
    bent = score.map(Scale(1 / cap), name=f"{prefix}relative_to_cap").map(Tanh(), name=f"{prefix}bent")
    return bent.map(Scale(cap), name=f"{prefix}capped")


def online(
    score: Stream, value: Stream, *, sum: Sum = "ordered", prefix: str = "", sink: Stream | None = None
) -> tuple[Stream, Stream]:
    """With weights relative to the largest of ``score`` [n, tiles], tiles [group, rows], so that none can overflow.

    What the largest score is shows at the end. Until then weights are relative to the largest one so far, and where
    that grows, the sums shrink. A ``sink`` [n], tiles [group, 1] or [1, 1], is a score that weighs, with no value.
    """
    largest = score.map(RowMax(), name=f"{prefix}largest")  # [group, 1]
    if sink is not None:
        sinks = sink.reshape(1, name=f"{prefix}sink_row")[0].expand(largest, name=f"{prefix}sinks")
        largest = largest.map(Max(), sinks, name=f"{prefix}largest_or_sink")
    now = largest.scan(Max(), name=f"{prefix}now")
    before = largest.scan(Max(), exclusive=True, name=f"{prefix}before")
    shrink = before.map(Sub(), now, name=f"{prefix}growth").map(Exp(), name=f"{prefix}shrink")
    weight = score.map(Sub(), now, name=f"{prefix}relative").map(Exp(out=BF16), name=f"{prefix}weight")
    part = weight.map(Matmul(sum=sum), value, name=f"{prefix}part")  # [group, size]
    total = shrink.accum(MulAdd(), part, name=f"{prefix}total")  # [n], as all behind it
    weights = shrink.accum(MulAdd(), weight.map(RowSum(), name=f"{prefix}weight_sum"), name=f"{prefix}weights")
    if sink is not None:
        most = largest.accum(Max(), name=f"{prefix}most")
        lost = sink.map(Sub(out=FP32), most, name=f"{prefix}below_most").map(Exp(), name=f"{prefix}lost")
        weights = weights.map(Add(), lost, name=f"{prefix}weights_and_sink")
    return total, weights


def direct(score: Stream, value: Stream, *, sum: Sum = "ordered", prefix: str = "") -> tuple[Stream, Stream]:
    """The same sums with exponentials as they are: they overflow where a score is above 88."""
    weight = score.map(Exp(out=BF16), name=f"{prefix}weight")
    total = weight.accum(Matmul(sum=sum), value, name=f"{prefix}total")
    weights = weight.map(RowSum(), name=f"{prefix}weight_sum").accum(Add(), name=f"{prefix}weights")
    return total, weights


def whole(
    query: Stream,
    key: Stream,
    value: Stream,
    *,
    relative: bool,
    scale: float | None,
    sum: Sum = "ordered",
    prefix: str = "",
) -> tuple[Stream, Stream]:
    """The same sums of rows of keys and values [n, rows] of which those of a sequence become one tile.

    Scores are tiles [rows, group], as columns are static. All of them are there, so the largest of a query, which
    weights are ``relative`` to, is known before any weight is.
    """
    keys = key.accum(RetileRow(), name=f"{prefix}keys")  # [n]
    score = scaled(keys.map(Matmul(transposed=True, sum=sum), query, name=f"{prefix}product"), scale, prefix)

    def rows(tiles: Stream, name: str) -> Stream:
        """Their rows [n, rows] of tiles [1, group]."""
        split = tiles.flat_map(RetileStreamify(1, "row", rank=1), name=f"{prefix}{name}_rows")
        return split.assume_shape(key.shape)

    if relative:
        largest = rows(score, "score").accum(Max(), name=f"{prefix}largest")
        score = score.map(Sub(), largest, name=f"{prefix}relative")
    weight = rows(score.map(Exp(out=BF16), name=f"{prefix}weight"), "weight")
    # Of one k each, so there is nothing to fuse.
    total = weight.map(Transpose(), name=f"{prefix}weight_column").accum(Matmul(), value, name=f"{prefix}total")
    weights = weight.accum(Add(), name=f"{prefix}weight_sum").map(Transpose(), name=f"{prefix}weights")
    return total, weights
