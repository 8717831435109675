"""Arithmetic of single scalars, applied to whole tiles."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, isnan
from random import Random
from typing import Any

import numpy as np

from step.language import numerics
from step.language.dtypes import DType
from step.language.function import wrong_parameter
from step.language.scalars import Elementwise, Folding, Rounded
from step.language.types import ElementType, Tile


class Add(Folding):
    """Sum of two tiles, scalar by scalar, or of all elements of a reduction from +0 on, in their order.

    Operands are two tiles ``[rows, cols]``, of which an extent of 1 is repeated to fit (``x + y`` is the same), or the
    elements of a reduction. BF16 and FP32 may mix; of INT8, INT32 and UINT32 both have the same.

    ``out``: format of the result. By default FP32 where an operand is FP32, else BF16: computed in FP32, then rounded
    once. A reduction's state is FP32 by default. Integers wrap around in ``out``, by default their own format; a
    reduction of INT8 has a state of INT32 by default.

    1 FLOP per scalar.

    >>> graph = Graph()
    >>> x, y = (graph.source(name, Tile(BF16), [3]) for name in ("x", "y"))
    >>> x.map(Add(), y).sink("z")
    >>> step.run(graph, "interpret", inputs={"x": [1, 2, 3], "y": [10, 20, 30]}).outputs["z"].numpy().ravel().tolist()
    [11.0, 22.0, 33.0]
    """

    operands = 2
    identity = 0.0
    integers = np.add
    combine = staticmethod(numerics.add)


class Sub(Rounded):
    """Difference of two tiles, scalar by scalar: the sum of the first one and the negated second one.

    Operands, ``out`` and rounding are those of `Add`; ``x - y`` is the same. 1 FLOP per scalar.

    >>> graph = Graph()
    >>> x, y = (graph.source(name, Tile(INT32), [2]) for name in ("x", "y"))
    >>> x.map(Sub(), y).sink("z")
    >>> step.run(graph, "interpret", inputs={"x": [5, 5], "y": [2, 7]}).outputs["z"].numpy().ravel().tolist()
    [3, -2]
    """

    operands = 2
    integers = np.subtract

    def combine(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return numerics.add(first, -second)


class Mul(Folding):
    """Product of two tiles, scalar by scalar, or of all elements of a reduction from 1 on, in their order.

    Operands, ``out`` and rounding are those of `Add`; ``x * y`` is the same. 1 FLOP per scalar.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [4]).promote().accum(Mul()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [1, 2, 3, 4]}).outputs["y"].numpy().ravel().tolist()
    [24.0]
    """

    operands = 2
    identity = 1.0
    integers = np.multiply
    combine = staticmethod(numerics.multiply)


class Max(Folding):
    """Larger scalar of two tiles, or of all elements of a reduction.

    NaN where there is one; +0 is larger than -0. A reduction starts at -infinity, of integers at the smallest one of
    its state. Operands, ``out`` and rounding are those of `Add`. 1 FLOP per scalar.

    >>> graph = Graph()
    >>> graph.source("x", Tile(BF16), [2, 3]).accum(Max()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [[1, 5, 2], [4, 3, 0]]}).outputs["y"].numpy().ravel().tolist()
    [5.0, 4.0]
    """

    operands = 2
    identity = -np.inf
    integers = np.maximum
    combine = staticmethod(numerics.maximum)


class Min(Folding):
    """Smaller scalar of two tiles, or of all elements of a reduction.

    NaN where there is one; -0 is smaller than +0. A reduction starts at +infinity, of integers at the largest one of
    its state. Operands, ``out`` and rounding are those of `Add`. 1 FLOP per scalar.

    >>> graph = Graph()
    >>> graph.source("x", Tile(INT8), [2, 3]).accum(Min()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [[1, 5, 2], [4, 3, 0]]}).outputs["y"].numpy().ravel().tolist()
    [1, 0]
    """

    operands = 2
    identity = np.inf
    integers = np.minimum

    def combine(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return -numerics.maximum(-first, -second)


class MulAdd(Folding):
    """``first * second + third``, scalar by scalar; in a reduction of two operands ``state * scale + value`` from 0 on.

    The product is rounded to FP32 as in `Mul`, then added as in `Add`, and the sum rounded to ``out``. Operands are
    those of `Add`: so a column of scales ``[rows, 1]`` multiplies the rows of a state ``[rows, cols]``. 2 FLOPs per
    scalar.

    >>> graph = Graph()
    >>> x, y, z = (graph.source(name, Tile(FP32), [2]) for name in ("x", "y", "z"))
    >>> x.map(MulAdd(), y, z).sink("out")
    >>> run = step.run(graph, "interpret", inputs={"x": [1, 2], "y": [3, 4], "z": [10, 10]})
    >>> run.outputs["out"].numpy().ravel().tolist()
    [13.0, 18.0]
    """

    operands = 3
    cost = 2
    identity = 0.0

    def combine(self, first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
        return numerics.add(numerics.multiply(first, second), third)

    def integers(self, first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
        """In int64, which wraps around as its lowest bits do."""
        return first * second + third


class Relu(Rounded):
    """Every scalar of a tile ``[rows, cols]``, but +0 for those below zero; NaN and -0 stay.

    ``out``: format of the result, as in `Add`. 1 FLOP per scalar.

    >>> graph = Graph()
    >>> graph.source("x", Tile(BF16), [3]).map(Relu()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [-1, 0, 2]}).outputs["y"].numpy().ravel().tolist()
    [0.0, 0.0, 2.0]
    """

    integers = staticmethod(lambda value: np.maximum(value, 0))

    def combine(self, value: np.ndarray) -> np.ndarray:
        return np.where(value < 0, np.float32(0), value)


class Abs(Rounded):
    """Magnitude of every scalar of a tile ``[rows, cols]``.

    ``out``: format of the result, as in `Add`; the smallest INT8 and INT32 wrap around. 1 FLOP per scalar.

    >>> graph = Graph()
    >>> graph.source("x", Tile(BF16), [3]).map(Abs()).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [-1, 0, 2]}).outputs["y"].numpy().ravel().tolist()
    [1.0, 0.0, 2.0]
    """

    integers = np.abs
    combine = staticmethod(np.abs)


@dataclass(frozen=True)
class Clamp(Elementwise):
    """Every scalar of a tile ``[rows, cols]`` as if by `Max` with ``low``, then `Min` with ``high``.

    ``low``, ``high``: numbers, which are rounded to FP32 and may be infinities; for a tile of INT8, INT32 or UINT32
    integers of that format.
    ``out``: format of the result, as in `Add`.

    1 FLOP per scalar. Raises `TypeMismatch` for NaN, and for integers that the format does not have.

    >>> graph = Graph()
    >>> graph.source("x", Tile(BF16), [3]).map(Clamp(0, 6)).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [-1, 3, 9]}).outputs["y"].numpy().ravel().tolist()
    [0.0, 3.0, 6.0]
    """

    low: float
    high: float
    out: DType | None = None

    @classmethod
    def sample_parameters(cls, random: Random, tile: Tile) -> dict[str, Any]:
        return {"low": -1.5, "high": np.inf} if tile.dtype.is_float else {"low": 3, "high": random.randint(0, 100)}

    def result_type(self, *inputs: ElementType) -> Tile:
        result = super().result_type(*inputs)
        for name, number in (("low", self.low), ("high", self.high)):
            _check(self, name, inputs, not isnan(number), "a number")
        return result

    @property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Both in FP32, the lower one at most the higher one."""
        low, high = numerics.fp32(self.low), numerics.fp32(self.high)
        return -numerics.maximum(-low, -high), high

    def combine(self, value: np.ndarray) -> np.ndarray:
        low, high = self.limits
        return -numerics.maximum(-numerics.maximum(value, low), -high)

    def integers(self, value: np.ndarray) -> np.ndarray:
        """In int64."""
        return np.minimum(np.maximum(value, self.low), self.high)


@dataclass(frozen=True)
class Scale(Elementwise):
    """Product of every scalar of a tile ``[rows, cols]`` and ``constant``, rounded as in `Mul`.

    ``constant``: for a tile of BF16 or FP32 a number, which is rounded to FP32 first; for INT8, INT32 or UINT32 an
    integer of that format, and the product wraps around.
    ``out``: format of the result, as in `Add`.

    1 FLOP per scalar. Raises `TypeMismatch` for a constant that the format does not have.

    >>> graph = Graph()
    >>> graph.source("x", Tile(BF16), [3]).map(Scale(0.5)).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [1, 2, 3]}).outputs["y"].numpy().ravel().tolist()
    [0.5, 1.0, 1.5]
    """

    constant: float
    out: DType | None = None

    @classmethod
    def sample_parameters(cls, random: Random, tile: Tile) -> dict[str, Any]:
        return {"constant": -0.3 if tile.dtype.is_float else random.randint(0, 100)}

    def result_type(self, *inputs: ElementType) -> Tile:
        result = super().result_type(*inputs)
        with numerics.quiet():
            finite = isfinite(self.constant) and isfinite(np.float64(self.constant).astype(np.float32))
        _check(self, "constant", inputs, finite, "a number that FP32 holds")
        return result

    def combine(self, value: np.ndarray) -> np.ndarray:
        return numerics.multiply(value, numerics.fp32(self.constant))

    def integers(self, value: np.ndarray) -> np.ndarray:
        """In int64."""
        return value * int(self.constant)


def _check(function: Any, name: str, inputs: tuple[ElementType, ...], fits: bool, wanted: str) -> None:
    """Raises `TypeMismatch` for a parameter that does not fit the numbers of a tile, or that its integers lack."""
    (tile,) = inputs
    assert isinstance(tile, Tile)
    if not tile.dtype.is_float:
        number, limits = getattr(function, name), np.iinfo(tile.dtype.numpy)
        fits, wanted = isinstance(number, int) and limits.min <= number <= limits.max, f"an integer of {tile.dtype}"
    if not fits:
        raise wrong_parameter(function, name, wanted, inputs)
