"""Matrix product of two tiles."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import sympy

from step.functions.dequantize import Bits, unpacked
from step.language import fused, numerics
from step.language.dims import Shape, dim
from step.language.dtypes import BF16, FP32, INT8, INT32, DType
from step.language.function import AccumFunction, MapFunction, Sample, mismatch, wrong_parameter
from step.language.types import ElementType, Tile


@dataclass(frozen=True)
class Matmul(fused.Summing, MapFunction, AccumFunction):
    """Matrix product ``[M, K] x [K, N] -> [M, N]`` of two BF16 or two INT8 tiles; ``x @ y`` is the same.

    Only M may be dynamic. Every scalar of the result is summed in FP32 in the order k = 0, 1, .., K-1, each product
    exact and each sum rounded, from +0 on (Map) or from the state on (Accum). Map rounds the result once more to
    ``out``. A reduction keeps its state in FP32. Products of INT8 are summed in INT32; sums wrap around. 2*M*K*N FLOPs.

    ``transposed``: the second tile is ``[N, K]``.
    ``out``: BF16 or FP32 (of a reduction FP32); INT32 for INT8.
    ``sum``: "ordered", or "fused": so many ``terms``, neighbours in k, are added at once (see `step.language.fused`),
    and their sums in order. A number of k that they do not divide is filled up with zeros.
    ``terms``: 4, 8, 16 or 32; 16 unless given.
    ``bits``: of an integer of the second tile: 8, or 4: then each of its INT8 has two, that of the lower column
    in its lower bits, and it stands for a tile of twice the columns.

    >>> graph = Graph()
    >>> x, w = graph.source("x", Tile(BF16, 1, 2), [1]), graph.source("w", Tile(BF16, 2, 2), [1])
    >>> x.map(Matmul(), w).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [[[1, 2]]], "w": [[[1, 0], [1, 1]]]}).outputs["y"].numpy().tolist()
    [[[3.0, 2.0]]]
    """

    transposed: bool = False
    out: DType = FP32
    sum: fused.Sum = "ordered"
    terms: fused.Terms | None = None
    bits: Bits = 8

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        left = element
        if not isinstance(left, Tile) or left.dtype not in (BF16, INT8):
            left = Tile(random.choice([BF16, INT8]), random.randint(1, 4), random.randint(1, 4))
        transposed, cols = random.choice([False, True]), random.choice([left.cols, *map(dim, range(1, 5))])
        out = INT32 if left.dtype is INT8 else FP32 if reduce else random.choice([FP32, BF16])
        rows, cols = (cols, left.cols) if transposed else (left.cols, cols)
        bits: Bits = random.choice([8, 4]) if left.dtype is INT8 and int(cols) % 2 == 0 else 8
        right = Tile(left.dtype, rows, int(cols) * bits // 8)
        return Sample(cls(transposed, out, *fused.sample(random, left), bits), (left, right))

    def _result(self, inputs: tuple[ElementType, ...]) -> Tile:
        second = "[N,K" if self.transposed else "[K,N"
        tiles = f"[M,K] and {second}{'/2' if self.bits == 4 else ''}] tiles"
        wanted = f"{tiles}, both of BF16 or both of INT8"
        match inputs:
            case (Tile() as left, Tile() as right) if left.dtype is right.dtype and left.dtype in (BF16, INT8):
                pass
            case _:
                raise mismatch(self, wanted, inputs)
        if not (left.cols.is_static and right.is_static):
            raise mismatch(self, f"{tiles}, of which only M, the rows of the left one, may be dynamic", inputs)
        rows, cols = int(right.rows), int(right.cols) * 8 // self.bits
        inner, cols = (cols, rows) if self.transposed else (rows, cols)
        if left.cols != inner:
            raise mismatch(self, wanted, inputs)
        if left.dtype is INT8 and self.out is not INT32:
            raise wrong_parameter(self, "out", "INT32", inputs)
        if left.dtype is BF16 and self.bits == 4:
            raise wrong_parameter(self, "bits", "8, as 4 are for tiles of INT8", inputs)
        if left.dtype is INT8 and self.sum == "fused":
            raise wrong_parameter(self, "sum", fused.EXACT, inputs)
        return Tile(self.out, left.rows, cols)

    def result_type(self, *inputs: ElementType) -> Tile:
        result = self._result(inputs)
        if not self.out.is_float and _is_float(inputs):
            raise wrong_parameter(self, "out", "BF16 or FP32", inputs)
        return result

    def state_type(self, reduced: Shape, *inputs: ElementType) -> Tile:
        state = self._result(inputs)
        if self.out is not FP32 and _is_float(inputs):
            raise wrong_parameter(self, "out", "FP32 in a reduction", inputs)
        return state

    def initial(self, state: Tile) -> np.ndarray:
        """Zeros; a state of unknown height has no rows before the first element."""
        return np.zeros((int(state.rows) if state.rows.is_static else 0, int(state.cols)), state.dtype.numpy)

    def apply(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        cols = second.shape[0] if self.transposed else second.shape[1] * 8 // self.bits
        dtype = INT32 if first.dtype == INT8.numpy else FP32
        state = self.update(np.zeros((len(first), cols), dtype.numpy), first, second)
        return state if dtype is INT32 else numerics.narrow(state, self.out)

    def update(self, state: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        if len(state) != len(first):
            state = np.zeros((len(first), state.shape[1]), state.dtype)
        second = unpacked(second) if self.bits == 4 else second
        right = second.T if self.transposed else second
        if state.dtype == INT32.numpy:
            return state + first.astype(np.int32) @ right.astype(np.int32)
        with numerics.quiet():
            left, right = numerics.widen(first), numerics.widen(right)
            at_once = self.terms or 1
            for k in range(0, left.shape[1], at_once):
                state = numerics.add(state, self._sum(left[:, k : k + at_once], right[k : k + at_once]))
        return numerics.canonical(state)

    def _sum(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The product of so many k as are added to the state at once."""
        if self.terms is None:
            return numerics.flush(left * right)
        terms, exponents = fused.products(left[:, :, None], right[None])
        return fused.fused_sum(terms, exponents, axis=1)

    def flops(self, *inputs: Any) -> sympy.Expr:
        left = inputs[0]
        return 2 * self._result(inputs).elements * left.cols.extent

    def operand_bytes(self, *inputs: Any) -> sympy.Expr:
        """16 rows of the first operand and the whole second one.

        Source: the paper's on-chip equation for Map and Accum, 16 * in_tile_cols * |elem| + |weight tile|.
        """
        first, second = inputs
        return 16 * first.cols.extent * first.dtype.bytes + second.bytes


def _is_float(inputs: tuple[ElementType, ...]) -> bool:
    return any(isinstance(each, Tile) and each.dtype.is_float for each in inputs)
