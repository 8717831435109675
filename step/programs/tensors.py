"""Tensors in off-chip memory: from input data, and cut into tiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from step.errors import InputError
from step.language.graph import Tensor
from step.programs.scalars import scalars
from step.programs.spellings import Masks


def bind_tensor(tensor: Tensor, value: Any) -> np.ndarray:
    """``value`` as an array of the tensor's shape and type; raises `InputError`."""
    if isinstance(value, Masks):
        raise InputError(f"input {tensor.name!r} is a tensor of {tensor.dtype}, which masks(...) can not be")
    array = scalars(value, tensor.dtype, tensor.name)
    if array.shape != tensor.shape:
        raise InputError(f"input {tensor.name!r} must have shape {list(tensor.shape)}, not {list(array.shape)}")
    return array


def cut_tiles(array: np.ndarray, tile: tuple[int, int]) -> np.ndarray:
    """``array`` cut into tiles of its last two dimensions: ``[tiles, rows, cols]``, row-major over the tiled tensor."""
    rows, cols = tile
    *outer, height, width = array.shape
    count = int(np.prod(outer, dtype=int))
    split = array.reshape(count, height // rows, rows, width // cols, cols)
    return split.transpose(0, 1, 3, 2, 4).reshape(-1, rows, cols)


def join_tiles(tiles: np.ndarray) -> np.ndarray:
    """The array ``[.., height, width]`` that was cut into ``tiles`` ``[.., down, across, rows, cols]``."""
    *outer, down, across, rows, cols = tiles.shape
    return tiles.swapaxes(-3, -2).reshape(*outer, down * rows, across * cols)
