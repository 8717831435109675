"""Functions that make one scalar of every row of a tile."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import sympy

from step.language import fused, numerics
from step.language.dtypes import BF16, FP32, INT32, ORDERED, UINT32, DType, dtype_of
from step.language.function import Function, MapFunction, Sample, one_tile, wrong_parameter
from step.language.types import ElementType, Tile


def _tile_of_rows(function: Function, inputs: tuple[ElementType, ...]) -> Tile:
    """The one tile among ``inputs``; raises `TypeMismatch` where it is not one of numbers, with columns."""
    wanted = "1 tile of BF16, FP32, INT8 or INT32 with a fixed number of columns >= 1"
    return one_tile(function, inputs, wanted, lambda one: one.dtype in ORDERED and one.cols.is_static and int(one.cols))


class _OfRows(MapFunction):
    """A function of the rows of a tile."""

    def flops(self, *inputs: ElementType) -> sympy.Expr:
        return _tile_of_rows(self, inputs).elements


@dataclass(frozen=True)
class RowSum(fused.Summing, _OfRows):
    """Sum of every row: ``[rows, cols]`` of BF16, FP32, INT8 or INT32 becomes ``[rows, 1]``.

    Neighbours are added in pairs, the sums of those in pairs again, and so on; a number without a neighbour stays as it
    is.

    ``out``: BF16 and FP32 are added in FP32, and the sum is rounded once to ``out``: FP32, unless that is BF16. The
    sums of INT8 and INT32 are INT32, and wrap around.
    ``sum``: "ordered", or "fused": so many ``terms``, neighbours, are added at once (see `step.language.fused`), and
    their sums in pairs. A number of columns that they do not divide is filled up with zeros.
    ``terms``: 4, 8, 16 or 32; 16 unless given.

    1 FLOP per scalar of the operand.

    >>> graph = Graph()
    >>> graph.source("x", Tile(BF16, 2, 3), [1]).map(RowSum()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [[[1, 5, 2], [4, 3, 0]]]}).outputs["y"].numpy().tolist()
    [[[8.0], [7.0]]]
    """

    out: DType | None = None
    sum: fused.Sum = "ordered"
    terms: fused.Terms | None = None

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        out = random.choice([None, None, BF16, INT32])
        return Sample(cls(out, *fused.sample(random, element)), (element,))

    def result_type(self, *inputs: ElementType) -> Tile:
        tile = _tile_of_rows(self, inputs)
        if self.sum == "fused" and not tile.dtype.is_float:
            raise wrong_parameter(self, "sum", fused.EXACT, inputs)
        natural = FP32 if tile.dtype.is_float else INT32
        if self.out not in (None, natural) and not (tile.dtype.is_float and self.out is BF16):
            wanted = "BF16 or FP32" if tile.dtype.is_float else natural.name
            raise wrong_parameter(self, "out", wanted, inputs)
        return Tile(self.out or natural, tile.rows, 1)

    def apply(self, value: np.ndarray) -> np.ndarray:
        if np.issubdtype(value.dtype, np.integer):
            return value.sum(axis=1, keepdims=True, dtype=np.int32)
        with numerics.quiet():
            sums = numerics.widen(value)
            if self.terms is not None:
                sums = self._sums(sums, self.terms)
            while sums.shape[1] > 1:
                alone = sums[:, sums.shape[1] & ~1 :]
                sums = np.concatenate([numerics.add(sums[:, :-1:2], sums[:, 1::2]), alone], axis=1)
            return numerics.narrow(sums, self.out or FP32)

    def _sums(self, values: np.ndarray, terms: int) -> np.ndarray:
        """Results of so many neighbours."""
        rows, cols = values.shape
        padded = np.pad(values, ((0, 0), (0, -cols % terms))).reshape(rows, -(-cols // terms), terms)
        return fused.fused_sum(padded.astype(np.float64), fused.exponents(padded), axis=2)


class RowMax(_OfRows):
    """Largest scalar of every row: ``[rows, cols]`` of BF16, FP32, INT8 or INT32 becomes ``[rows, 1]``.

    +0 is larger than -0; a row with a NaN has NaN. The format stays. 1 FLOP per scalar of the operand.

    >>> graph = Graph()
    >>> graph.source("x", Tile(BF16, 2, 3), [1]).map(RowMax()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [[[1, 5, 2], [4, 3, 0]]]}).outputs["y"].numpy().tolist()
    [[[5.0], [4.0]]]
    """

    def result_type(self, *inputs: ElementType) -> Tile:
        tile = _tile_of_rows(self, inputs)
        return Tile(tile.dtype, tile.rows, 1)

    def apply(self, value: np.ndarray) -> np.ndarray:
        best = numerics.order(value).argmax(axis=1, keepdims=True)
        return np.take_along_axis(numerics.convert(value, dtype_of(value)), best, axis=1)


class ArgMax(_OfRows):
    """Column of the largest scalar of every row, of equal ones the first: ``[rows, cols]`` becomes ``[rows, 1]``.

    The operand is of BF16, FP32, INT8 or INT32, the result of UINT32; columns count from 0 on. +0 is larger than -0,
    subnormal numbers are zeros, and NaN is larger than all numbers, as in `RowMax`. 1 FLOP per scalar of the operand.

    >>> graph = Graph()
    >>> graph.source("x", Tile(BF16, 2, 3), [1]).map(ArgMax()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [[[1, 5, 2], [4, 3, 0]]]}).outputs["y"].numpy().tolist()
    [[[1], [0]]]
    """

    def result_type(self, *inputs: ElementType) -> Tile:
        return Tile(UINT32, _tile_of_rows(self, inputs).rows, 1)

    def apply(self, value: np.ndarray) -> np.ndarray:
        return numerics.order(value).argmax(axis=1, keepdims=True).astype(np.uint32)
