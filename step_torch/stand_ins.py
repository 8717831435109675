"""What functions of `step` do not have yet, made of those that there are; each says what would replace it."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

from step import BF16, FP32, UINT32, Stream
from step.functions import Add, Cast, Compare, Div, Exp, Gelu, Matmul, Mul, RowMax, RowSum, Scale, Sub, Where

if TYPE_CHECKING:
    from step_torch.importing import Importer


def columns_in_order(at: Importer, x: Stream, order: Sequence[int], signs: Sequence[int]) -> Stream:
    """Column ``order[i]`` of tiles of ``x``, times ``signs[i]``, as column i: a product, exact as it sums one term.

    Half of the columns turned, as rotary embeddings do it, would be a function of its own.
    """
    matrix = np.zeros((int(x.element.tiles[0].cols), len(order)))
    matrix[list(order), range(len(order))] = signs
    turned = at.graph.constant(matrix, dtype=BF16, reference=x, name=at.name("order"))
    return x.map(Matmul(out=BF16), turned, name=at.name())


def gelu(at: Importer, x: Stream) -> Stream:
    """x * Phi(x) by erf."""
    return at.rounded(x.map(Gelu(), name=at.name()))


def gelu_tanh(at: Importer, x: Stream) -> Stream:
    """x / (1 + exp(-2u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), which is x (1 + tanh u) / 2."""
    square = x.map(Mul(out=FP32), x, name=at.name("square")).map(Scale(0.044715), name=at.name("cubic"))
    one = at.graph.constant(1.0, dtype=FP32, reference=x, name=at.name("one"))
    inner = square.map(Add(), one, name=at.name("slope")).map(Mul(), x, name=at.name("inner"))
    power = inner.map(Scale(-2 * sqrt(2 / pi)), name=at.name("power")).map(Exp(), name=at.name("exponential"))
    return x.map(Div(out=at.dtype), power.map(Add(), one, name=at.name("divisor")), name=at.name())


def tanh(at: Importer, x: Stream) -> Stream:
    """2 / (1 + exp(-2x)) - 1."""
    power = x.map(Mul(out=FP32), at.graph.constant(-2.0, dtype=FP32, reference=x, name=at.name("minus_two")))
    one = at.graph.constant(1.0, dtype=FP32, reference=x, name=at.name("one"))
    two = at.graph.constant(2.0, dtype=FP32, reference=x, name=at.name("two"))
    divisor = power.map(Exp(), name=at.name("exponential")).map(Add(), one, name=at.name("divisor"))
    return two.map(Div(), divisor, name=at.name("twice")).map(Sub(out=at.dtype), one, name=at.name())


def top_weights(at: Importer, probabilities: Stream, k: int, *, normalised: bool) -> Stream:
    """Rows [1, n] in which all but the ``k`` largest are zero, of BF16; ``normalised``: divided by their sum.

    Of equal ones at the border all stay. A function would find the largest k in one pass.
    """
    graph, least = at.graph, probabilities
    columns = int(probabilities.element.tiles[0].cols)

    def everywhere(value: float, name: str) -> Stream:
        row = np.full((1, columns), value)
        return graph.constant(row, dtype=FP32, reference=probabilities, name=at.name(name))

    for number in range(k - 1):
        largest = least.map(RowMax(), name=at.name(f"largest{number}"))
        reached = least.map(Compare(">="), largest, name=at.name(f"reached{number}"))
        least = reached.map(Where(), everywhere(-np.inf, f"none{number}"), least, name=at.name(f"below{number}"))
    border = least.map(RowMax(), name=at.name("border"))
    among = probabilities.map(Compare(">="), border, name=at.name("among"))
    kept = among.map(Where(), probabilities, everywhere(0.0, "zero"), name=at.name("kept"))
    if not normalised:
        return kept.map(Scale(1.0, out=BF16), name=at.name("weights"))
    return kept.map(Div(out=BF16), kept.map(RowSum(), name=at.name("sum")), name=at.name("weights"))


def column(at: Importer, x: Stream, number: int, name: str) -> Stream:
    """Column ``number`` of tiles of BF16, exact."""
    columns = int(x.element.tiles[0].cols)
    chosen = np.zeros((columns, 1))
    chosen[number] = 1
    pick = at.graph.constant(chosen, dtype=BF16, reference=x, name=at.name(f"{name}_pick"))
    return x.map(Matmul(out=BF16), pick, name=at.name(name))


def largest_column(at: Importer, x: Stream) -> Stream:
    """The number of the largest column of rows [1, n], the lowest of equal ones, as UINT32; n is below 2^24.

    A function would keep the number as it looks for the largest.
    """
    columns = int(x.element.tiles[0].cols)
    largest = x.map(Compare(">="), x.map(RowMax(), name=at.name("largest")), name=at.name("is_largest"))
    numbers = -np.arange(columns, dtype=np.float64)[None]
    mine = at.graph.constant(numbers, dtype=FP32, reference=x, name=at.name("numbers"))
    none = at.graph.constant(np.full((1, columns), -np.inf), dtype=FP32, reference=x, name=at.name("none"))
    found = largest.map(Where(), mine, none, name=at.name("candidates")).map(RowMax(), name=at.name("lowest"))
    return found.map(Scale(-1.0), name=at.name("number")).map(Cast(UINT32), name=at.name("chosen"))


def causal_mask(rows: int, keys: int) -> np.ndarray:
    """0 where query row i sees a key, minus infinity where it does not; the last query sees all keys.

    A function would make it from the positions of a tile.
    """
    mask: np.ndarray = np.where(np.tri(rows, keys, keys - rows, dtype=bool), 0, -np.inf).astype(np.float32)
    return mask
