"""Conversion of tiles between all formats."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np

from step.language import numerics
from step.language.dtypes import BF16, DTYPES, FP32, STORED, DType
from step.language.function import MapFunction, Sample, wrong_parameter
from step.language.scalars import listed, tiles_of
from step.language.types import ElementType, Tile


@dataclass(frozen=True)
class Cast(MapFunction):
    """Tile ``[rows, cols]`` of any format in the format ``out``.

    ``out``: to a format with a fraction, scalars are rounded to nearest even, integers to FP32 first. From these to an
    integer: rounded to nearest even, and the nearest number of the format where it does not fit; NaN becomes 0. From
    integer to integer: the lowest bits (it wraps around). To BOOL: whether it is not zero (NaN is not, a number that is
    subnormal in BF16 or FP32 is); from it: 0 or 1.
    ``saturate``: to FP16 or FP8, whether a number beyond the largest one becomes that one, and not an infinity, or NaN
    in FP8_E4M3, which has no infinity. Both are as in OCP's FP8 (OFP8 1.0).

    FP16, FP8_E4M3 and FP8_E5M2 keep their subnormal numbers, and widen without a rounding, but FP16 to BF16. No FLOPs.
    Raises `TypeMismatch` for ``saturate`` with another format.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [4]).map(Cast(INT8)).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [0.5, 1.5, -2.6, 1000]}).outputs["y"].numpy().ravel().tolist()
    [0, 2, -3, 127]
    """

    out: DType
    saturate: bool = field(default=False, kw_only=True)

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        out = random.choice([FP32, BF16, *DTYPES.values()])
        return Sample(cls(out, saturate=out.is_stored and random.random() < 0.5), (element,))

    def result_type(self, *inputs: ElementType) -> Tile:
        (tile,) = tiles_of(self, inputs, 1, [*DTYPES.values()])
        if self.saturate and not self.out.is_stored:
            wanted = f"False, unless out is {listed(STORED)}"
            raise wrong_parameter(self, "saturate", wanted, inputs)
        return Tile(self.out, tile.rows, tile.cols)

    def apply(self, value: np.ndarray) -> np.ndarray:
        return numerics.convert(value, self.out, saturate=self.saturate)
