"""Integers with scales, as weights of few bits and their products are, as floating-point numbers."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

import ml_dtypes
import numpy as np

from step.errors import TypeMismatch
from step.language import numerics
from step.language.dims import dim
from step.language.dtypes import BF16, FLOATS, INT8, INT32, DType
from step.language.function import MapFunction, Sample, mismatch, wrong_parameter
from step.language.types import ElementType, Tile

Bits = Literal[8, 4]


@dataclass(frozen=True)
class Dequantize(MapFunction):
    """Product of integers and their scales, ``(integers, scales)``, rounded once to ``out``.

    Operands are integers ``[rows, cols]`` of INT8 or INT32, and scales of BF16 or FP32: ``[rows, groups]`` or
    ``[1, groups]``, each for as many columns next to each other as make up the row. Rows of integers may be dynamic.
    An INT32 is rounded to FP32 first, which holds all below 2^24.

    ``bits``: 8, or for INT8 4: then each has two integers, that of the lower column in its lower bits, and the result
    has twice the columns.
    ``out``: BF16 or FP32.

    1 FLOP per integer. Raises `TypeMismatch` for groups that do not divide the columns.

    >>> graph = Graph()
    >>> weights, scales = graph.source("weights", Tile(INT8, 1, 2), [1]), graph.source("scales", Tile(BF16, 1, 2), [1])
    >>> weights.map(Dequantize(bits=4), scales).sink("y")
    >>> run = step.run(graph, "interpret", inputs={"weights": [[[0x21, -1]]], "scales": [[[10, 0.5]]]})
    >>> run.outputs["y"].numpy().ravel().tolist()
    [10.0, 20.0, -0.5, -0.5]
    """

    bits: Bits = 8
    out: DType = BF16

    cost = 1

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        if not isinstance(element, Tile) or element.dtype not in (INT8, INT32) or not element.cols.is_static:
            element = Tile(random.choice([INT8, INT32]), random.randint(1, 4), random.randint(1, 4))
        bits: Bits = random.choice([8, 4]) if element.dtype is INT8 else 8
        cols = int(element.cols) * 8 // bits
        groups = random.choice([each for each in (*range(1, 9), cols) if cols % each == 0])
        scales = Tile(random.choice(FLOATS), random.choice([dim(1), element.rows]), groups)
        return Sample(cls(bits, random.choice(FLOATS)), (element, scales))

    def result_type(self, *inputs: ElementType) -> Tile:
        match inputs:
            case (Tile() as integers, Tile() as scales) if integers.dtype in (INT8, INT32) and scales.dtype in FLOATS:
                if integers.cols.is_static and scales.cols.is_static:
                    return self._result(integers, scales)
        raise mismatch(self, "a tile of INT8 or INT32, and one of BF16 or FP32 with the scales", inputs)

    def _result(self, integers: Tile, scales: Tile) -> Tile:
        rows, cols = integers.rows, int(integers.cols) * 8 // self.bits
        if self.out not in FLOATS:
            raise wrong_parameter(self, "out", "BF16 or FP32", (integers, scales))
        if integers.dtype is INT32 and self.bits == 4:
            raise wrong_parameter(self, "bits", "8, as 4 are for tiles of INT8", (integers, scales))
        if scales.rows not in (dim(1), rows) or cols % int(scales.cols):
            wanted = f"scales in 1 or {rows} rows, and in so many columns that they divide {cols}"
            raise mismatch(self, wanted, (integers, scales))
        return Tile(self.out, rows, cols)

    def apply(self, integers: np.ndarray, scales: np.ndarray) -> np.ndarray:
        integers = integers if self.bits == 8 else unpacked(integers)
        with numerics.quiet():
            each = np.repeat(numerics.widen(scales), integers.shape[1] // scales.shape[1], axis=1)
            return numerics.narrow(numerics.multiply(integers.astype(np.float32), each), self.out)


def unpacked(weights: np.ndarray) -> np.ndarray:
    """The integers of 4 bits, two of which are in each INT8: that of the lower column in its lower bits."""
    pairs = np.stack([weights << 4 >> 4, weights >> 4], axis=-1)
    return pairs.reshape(*weights.shape[:-1], -1)


def packed(integers: np.ndarray) -> np.ndarray:
    """The opposite of `unpacked`."""
    return (integers[..., ::2] & 15 | integers[..., 1::2] << 4).astype(np.int8)


def quantized(
    weights: np.ndarray, *, bits: Bits = 8, group: int | None = None, dtype: DType = BF16
) -> tuple[np.ndarray, np.ndarray]:
    """``weights`` ``[.., columns]`` as INT8 of ``bits``, packed as `Dequantize` wants them, and scales of ``dtype``.

    The scale of so many columns next to each other as ``group`` says, by default all, is such that the largest of them
    is the largest integer; integers are rounded to nearest even.

    Raises `TypeMismatch` for columns that ``group`` does not divide, and an odd number of them with 4 bits.
    """
    columns, most = weights.shape[-1], (1 << bits - 1) - 1
    if columns % (group or columns):
        raise TypeMismatch(f"quantized needs group to be a divisor of the {columns} columns, not {group}")
    if bits == 4 and columns % 2:
        raise TypeMismatch(f"quantized needs an even number of columns, as an INT8 has two of 4 bits, not {columns}")
    groups = weights.astype(np.float64).reshape(*weights.shape[:-1], -1, group or columns)
    scales = (np.abs(groups).max(axis=-1) / most).astype(ml_dtypes.bfloat16 if dtype is BF16 else np.float32)
    exact = scales.astype(np.float64)[..., None]
    integers = np.clip(np.rint(np.divide(groups, exact, out=np.zeros_like(groups), where=exact != 0)), -most - 1, most)
    whole = integers.astype(np.int8).reshape(weights.shape)
    return whole if bits == 8 else packed(whole), scales
