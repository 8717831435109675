"""Weights of what is chosen: a router's scores, normalised."""

from __future__ import annotations

from step.functions.reciprocal import Div
from step.functions.row import RowSum
from step.functions.select import KeepTopK
from step.language.arguments import checked
from step.language.dtypes import DType
from step.language.stream import Stream


@checked
def top_k_weights(scores: Stream, k: int, *, out: DType | None = None, name: str = "top_k_weights") -> Stream:
    """The ``k`` largest of every row of ``scores``, of equal ones the first, as parts of their sum; zeros elsewhere.

    ``scores`` are tiles of BF16 or FP32 that are not negative, as a softmax makes them; the weights have the format
    ``out``, by default FP32.

    Raises `TypeMismatch` for other tiles, and for a ``k`` that is not one of 1 to their columns.
    """
    kept = scores.map(KeepTopK(k), name=f"{name}_kept")
    return kept.map(Div(out), kept.map(RowSum(), name=f"{name}_sum"), name=name)
