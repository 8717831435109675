"""Softmax of rows that a tile has whole."""

from __future__ import annotations

from step.functions.elementwise import Sub
from step.functions.exp import Exp
from step.functions.reciprocal import Div
from step.functions.row import RowMax, RowSum
from step.language.arguments import checked
from step.language.dtypes import DType
from step.language.stream import Stream


@checked
def softmax(scores: Stream, *, out: DType | None = None, name: str = "softmax") -> Stream:
    """The softmax of every row of tiles of BF16 or FP32, relative to its largest scalar, so that none overflows.

    The result has the format ``out``, by default that of the scores; rows of -inf alone become NaN.

    Raises `TypeMismatch` for other elements.
    """
    relative = scores.map(Sub(), scores.map(RowMax(), name=f"{name}_largest"), name=f"{name}_relative")
    powers = relative.map(Exp(), name=f"{name}_powers")
    return powers.map(Div(out), powers.map(RowSum(), name=f"{name}_sum"), name=name)
