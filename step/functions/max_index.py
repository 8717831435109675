"""The largest scalars of a reduction, and where they were."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import sympy

from step.language import numerics
from step.language.dims import Shape
from step.language.dtypes import ORDERED, UINT32, dtype_of
from step.language.expecting import expect_element
from step.language.function import TILES, AccumFunction, Sample, mismatch
from step.language.parameters import Count
from step.language.types import ElementType, Tile, Tuple

NOWHERE = 2**32 - 1
"""The index before the first element."""


@dataclass(frozen=True)
class MaxIndex(AccumFunction):
    """``k`` largest values of a reduction with their indices, of equal ones the lowest first, at each place of a tile.

    ``k``: an integer >= 1; else `TypeMismatch`. Operands are ``(values, indices)``: ``values`` is a static tile
    ``[rows, cols]`` of BF16, FP32, INT8 or INT32, ``indices`` one of UINT32 of the same shape. The state is a tuple of
    two tiles ``[rows, cols * k]``, in which those of a place stand side by side, the largest first, and begins with the
    smallest number and `NOWHERE`. +0 is larger than -0, subnormal numbers are zeros, and NaN is larger than all
    numbers, as in `RowMax`. ``k`` FLOPs per scalar.

    >>> graph = Graph()
    >>> values, indices = graph.source("values", Tile(FP32), [1, 3]), graph.source("indices", Tile(UINT32), [1, 3])
    >>> values.accum(MaxIndex(), indices).sink("y")
    >>> run = step.run(graph, "interpret", inputs={"values": [[1, 5, 2]], "indices": [[10, 11, 12]]})
    >>> [each.item() for each in run.outputs["y"].numpy()]
    [5.0, 11]
    """

    k: Count = 1

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        tile = expect_element(element, Tile, TILES)
        return Sample(cls(random.choice([1, 1, 3])), (tile, Tile(UINT32, tile.rows, tile.cols)))

    def state_type(self, reduced: Shape, *inputs: ElementType) -> Tuple:
        match inputs:
            case (Tile() as values, Tile() as indices) if values.dtype in ORDERED:
                if values.is_static and indices == Tile(UINT32, values.rows, values.cols):
                    cols = values.shape[1] * self.k
                    return Tuple((Tile(values.dtype, values.rows, cols), Tile(UINT32, values.rows, cols)))
        wanted = "a static tile of BF16, FP32, INT8 or INT32, and one of UINT32 of the same shape"
        raise mismatch(self, wanted, inputs)

    def initial(self, state: Tuple) -> tuple[np.ndarray, np.ndarray]:
        values, indices = state.tiles
        smallest = -np.inf if values.dtype.is_float else np.iinfo(values.dtype.numpy).min
        return np.full(values.shape, smallest, values.dtype.numpy), np.full(indices.shape, NOWHERE, np.uint32)

    def update(
        self, state: tuple[np.ndarray, np.ndarray], values: np.ndarray, indices: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        values, places = numerics.convert(values, dtype_of(values)), (*values.shape, -1)
        several = [
            np.concatenate([before.reshape(places), now.reshape(places)], 2)
            for before, now in zip(state, (values, indices), strict=True)
        ]
        best = np.lexsort((several[1], -numerics.order(several[0])))[..., : self.k]
        largest, at = (np.take_along_axis(each, best, 2).reshape(len(values), -1) for each in several)
        return largest, at

    def flops(self, *inputs: ElementType) -> sympy.Expr:
        values, _ = self.state_type((), *inputs).tiles
        return values.elements
