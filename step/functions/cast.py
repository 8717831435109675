"""Conversion of tiles between all formats."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import sympy

from step.language import numerics
from step.language.dtypes import BF16, DTYPES, FP32, DType
from step.language.function import MapFunction, Sample
from step.language.scalars import tiles_of
from step.language.types import ElementType, Tile


@dataclass(frozen=True)
class Cast(MapFunction):
    """A tile of any format in the format ``out``; no FLOPs.

    To BF16 and FP32: rounded to nearest even, integers to FP32 first. From these to an integer: rounded to nearest
    even, and the nearest number of the format where it does not fit; NaN becomes 0. From integer to integer: the
    lowest bits (it wraps around). To BOOL: whether it is not zero (NaN is not, a subnormal number is); from it: 0 or 1.
    """

    out: DType

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        return Sample(cls(random.choice([FP32, BF16, *DTYPES.values()])), (element,))

    def result_type(self, *inputs: ElementType) -> Tile:
        (tile,) = tiles_of(self, inputs, 1, [*DTYPES.values()])
        return Tile(self.out, tile.rows, tile.cols)

    def apply(self, value: np.ndarray) -> np.ndarray:
        return numerics.convert(value, self.out)

    def flops(self, *inputs: ElementType) -> sympy.Expr:
        return sympy.Integer(0)
