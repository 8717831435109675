"""LinearOffChipLoad: a read of the tensor in place of every element of the reference, or once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meaning.given import Given
from meaning.nested import Nested, inside
from step.ops.linear_off_chip_load import LinearOffChipLoad


def tile_of(tensor: np.ndarray, rows: int, cols: int, index: int) -> np.ndarray:
    """Tile ``index`` of ``tensor``, counted row by row of tiles."""
    *outer, height, width = tensor.shape
    *which, down, right = np.unravel_index(index, (*outer, height // rows, width // cols))
    return tensor[tuple(which)][down * rows : (down + 1) * rows, right * cols : (right + 1) * cols]


def meaning(operator: LinearOffChipLoad, given: Given, *references: Nested) -> list[Nested]:
    tensor = given.tensors[operator.tensor.name]

    def read(out: Sequence[int], stride: Sequence[int], index: int) -> Any:
        if not out:
            return tile_of(tensor, *operator.tile, index)
        return [read(out[1:], stride[1:], index + position * stride[0]) for position in range(out[0])]

    whole = read(operator.out, operator.stride, operator.offset)
    if not references:
        return [[whole]]
    return [inside(given.input_types[0].rank + 1, lambda _: whole, *references)]
