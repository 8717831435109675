"""Arithmetic of single scalars, applied to whole tiles."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from random import Random
from typing import Any

import numpy as np

from step.language import numerics
from step.language.dtypes import DType
from step.language.function import wrong_parameter
from step.language.scalars import Elementwise, Folding, Rounded
from step.language.types import ElementType, Tile


class Add(Folding):
    """Sum of two tiles, or of all elements of a reduction from +0 on, in their order.

    BF16 and FP32 may mix, and an extent of 1 is repeated to fit. Computed in FP32, then rounded to ``out``: by
    default FP32 where an operand is FP32, else BF16; a reduction's state is FP32 by default. Integers (INT8, INT32,
    UINT32; both operands alike) wrap around in ``out``, by default their own format; a reduction of INT8 has a state
    of INT32 by default. 1 FLOP per scalar.
    """

    operands = 2
    identity = 0.0
    integers = np.add
    combine = staticmethod(numerics.add)


class Sub(Rounded):
    """The first tile minus the second one: the sum of the first one and the negated second one.

    Types, broadcasting and rounding as in `Add`. 1 FLOP per scalar.
    """

    operands = 2
    integers = np.subtract

    def combine(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return numerics.add(first, -second)


class Mul(Folding):
    """Product of two tiles, scalar by scalar, or of all elements of a reduction from 1 on, in their order.

    Types, broadcasting and rounding as in `Add`. 1 FLOP per scalar.
    """

    operands = 2
    identity = 1.0
    integers = np.multiply
    combine = staticmethod(numerics.multiply)


class Max(Folding):
    """The larger scalar of two tiles, or of all elements of a reduction from the smallest number on.

    NaN if there is one; +0 is larger than -0. A reduction starts at -infinity, of integers at the smallest one of its
    state. Types, broadcasting and rounding as in `Add`. 1 FLOP per scalar.
    """

    operands = 2
    identity = -np.inf
    integers = np.maximum
    combine = staticmethod(numerics.maximum)


class Min(Folding):
    """The smaller scalar of two tiles, or of all elements of a reduction from the largest number on.

    NaN if there is one; -0 is smaller than +0. A reduction starts at +infinity, of integers at the largest one of its
    state. Types, broadcasting and rounding as in `Add`. 1 FLOP per scalar.
    """

    operands = 2
    identity = np.inf
    integers = np.minimum

    def combine(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return -numerics.maximum(-first, -second)


class MulAdd(Folding):
    """``first * second + third``, scalar by scalar; in a reduction ``state * scale + value`` from 0 on.

    The product is rounded to FP32 as in `Mul`, then added as in `Add`, and the sum rounded to ``out``. Types and
    broadcasting as in `Add`: so a column of scales multiplies the rows of a state. 2 FLOPs per scalar.
    """

    operands = 3
    cost = 2
    identity = 0.0

    def combine(self, first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
        return numerics.add(numerics.multiply(first, second), third)

    def integers(self, first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
        """In int64, which wraps around as its lowest bits do."""
        return first * second + third


@dataclass(frozen=True)
class Scale(Elementwise):
    """Every scalar times ``constant``, rounded as in `Mul`; 1 FLOP per scalar.

    The constant of a tile of BF16 or FP32 is a number that is rounded to FP32 first; of integers it is an integer of
    their format, and the product wraps around.
    """

    constant: float
    out: DType | None = None

    @classmethod
    def sample_parameters(cls, random: Random, tile: Tile) -> dict[str, Any]:
        return {"constant": -0.3 if tile.dtype.is_float else random.randint(0, 100)}

    def result_type(self, *inputs: ElementType) -> Tile:
        result = super().result_type(*inputs)
        (tile,) = inputs
        assert isinstance(tile, Tile)
        number = self.constant
        if tile.dtype.is_float:
            with numerics.quiet():
                if not (isfinite(number) and isfinite(np.float64(number).astype(np.float32))):
                    raise wrong_parameter(self, "constant", "a number that FP32 holds", inputs)
        else:
            limits = np.iinfo(tile.dtype.numpy)
            if not (isinstance(number, int) and limits.min <= number <= limits.max):
                raise wrong_parameter(self, "constant", f"an integer of {tile.dtype}", inputs)
        return result

    def combine(self, value: np.ndarray) -> np.ndarray:
        return numerics.multiply(value, numerics.fp32(self.constant))

    def integers(self, value: np.ndarray) -> np.ndarray:
        """In int64."""
        return value * int(self.constant)
