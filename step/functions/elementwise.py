"""Functions of single scalars, applied to whole tiles: sum, product, cast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy

from step.language import numerics
from step.language.dims import Dim, Shape, dim
from step.language.dtypes import BF16, FP32, DType
from step.language.function import AccumFunction, Function, MapFunction, mismatch
from step.language.types import ElementType, Tile


def _float_tiles(function: Function, count: int, inputs: tuple[ElementType, ...], out: DType | None) -> list[Tile]:
    """``inputs`` as ``count`` tiles of BF16 or FP32; raises `TypeMismatch` where they are not."""
    tiles = [each for each in inputs if isinstance(each, Tile) and each.dtype.is_float]
    if len(tiles) != len(inputs) or len(inputs) != count:
        raise mismatch(function, f"{count} tile{'s' if count > 1 else ''} of BF16 or FP32", inputs)
    if out is not None and not out.is_float:
        raise mismatch(function, f"out to be BF16 or FP32 rather than {out}", inputs)
    return tiles


def _broadcast(first: Dim, second: Dim) -> Dim | None:
    """The common extent of two dimensions of which one may be 1; None where they do not fit."""
    if first == second or second == dim(1):
        return first
    return second if first == dim(1) else None


class _Binary(MapFunction, AccumFunction):
    """A function of two scalars that also folds the elements of a reduction."""

    out: DType | None
    identity: float

    def combine(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The FP32 result for flushed operands."""
        raise NotImplementedError

    def result_type(self, *inputs: ElementType) -> Tile:
        first, second = _float_tiles(self, 2, inputs, self.out)
        rows, cols = _broadcast(first.rows, second.rows), _broadcast(first.cols, second.cols)
        if rows is None or cols is None:
            raise mismatch(self, "tiles of the same shape, or with 1 row or 1 column to repeat", inputs)
        return Tile(self.out or (FP32 if FP32 in (first.dtype, second.dtype) else BF16), rows, cols)

    def state_type(self, reduced: Shape, *inputs: ElementType) -> Tile:
        (tile,) = _float_tiles(self, 1, inputs, self.out)
        return Tile(self.out or FP32, tile.rows, tile.cols)

    def initial(self, state: ElementType) -> np.ndarray:
        """The identity everywhere; a state of unknown extent has no scalars before the first element."""
        assert isinstance(state, Tile)
        rows, cols = (int(each) if each.is_static else 0 for each in (state.rows, state.cols))
        return np.full((rows, cols), self.identity, state.dtype.numpy)

    def _compute(self, first: np.ndarray, second: np.ndarray, out: DType) -> np.ndarray:
        with numerics.quiet():
            return numerics.narrow(self.combine(numerics.widen(first), numerics.widen(second)), out)

    def apply(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        wide = first.dtype == FP32.numpy or second.dtype == FP32.numpy
        return self._compute(first, second, self.out or (FP32 if wide else BF16))

    def update(self, state: np.ndarray, value: np.ndarray) -> np.ndarray:
        if state.shape != value.shape:
            state = np.full(value.shape, self.identity, state.dtype)
        return self._compute(state, value, self.out or FP32)

    def flops(self, *inputs: ElementType) -> sympy.Expr:
        return (self.result_type(*inputs) if len(inputs) == 2 else self.state_type((), *inputs)).elements


@dataclass(frozen=True)
class Add(_Binary):
    """Sum of two tiles, or of all elements of a reduction from +0 on, in their order.

    BF16 and FP32 may mix, and an extent of 1 is repeated to fit. Computed in FP32, then rounded to ``out``: by
    default FP32 where an operand is FP32, else BF16; a reduction's state is FP32 by default. 1 FLOP per scalar.
    """

    out: DType | None = None
    identity = 0.0

    def combine(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return numerics.add(first, second)


@dataclass(frozen=True)
class Mul(_Binary):
    """Product of two tiles, scalar by scalar, or of all elements of a reduction from 1 on, in their order.

    Types, broadcasting and rounding as in `Add`. 1 FLOP per scalar.
    """

    out: DType | None = None
    identity = 1.0

    def combine(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return numerics.multiply(first, second)


@dataclass(frozen=True)
class Cast(MapFunction):
    """A tile of BF16 or FP32 in the format ``out``, rounded to nearest even; no FLOPs."""

    out: DType

    def result_type(self, *inputs: ElementType) -> Tile:
        (tile,) = _float_tiles(self, 1, inputs, self.out)
        return Tile(self.out, tile.rows, tile.cols)

    def apply(self, value: np.ndarray) -> np.ndarray:
        with numerics.quiet():
            return numerics.narrow(numerics.widen(value), self.out)

    def flops(self, *inputs: ElementType) -> sympy.Expr:
        return sympy.Integer(0)
