"""Zeros of the size that a result would have, where nobody wants to know what is in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from step.language.dims import Dim
from step.language.operator import Placed
from step.language.types import ElementType, Tile

SIDES = ("rows", "cols")


def blank(node: Placed, result: ElementType, compute: Callable[..., Any], values: Sequence[Any]) -> Any:
    """Zeros in place of ``compute(*values)``, a ``result`` of the function of ``node``, without memory and time.

    Reductions have their state in front of the operands. What is no tile, or has a size that no operand shows, is
    computed.
    """
    if not isinstance(result, Tile):
        return compute(*values)
    elements = [each.element for each in node.input_types]
    before, operands = values[: len(values) - len(elements)], values[len(values) - len(elements) :]
    extents = [_extent(side, result, elements, operands, before) for side in SIDES]
    known = [each for each in extents if each is not None]
    if len(known) < len(extents):
        return compute(*values)
    return np.broadcast_to(np.zeros((), result.dtype.numpy), known)


def _extent(
    side: str, result: Tile, elements: Sequence[ElementType], operands: Sequence[Any], before: Sequence[Any]
) -> int | None:
    """The extent of ``result`` on that ``side``: that of an operand of the same dimension, or the sum of all so far."""
    dim: Dim = getattr(result, side)
    if dim.is_static:
        return int(dim)
    tiles = [(each, operand) for each, operand in zip(elements, operands, strict=True) if isinstance(each, Tile)]
    for element, operand in tiles:
        for at, other in enumerate(SIDES):
            if getattr(element, other) == dim:
                return int(operand.shape[at])
    if before and len(tiles) == 1:
        at = SIDES.index(side)
        return int(before[0].shape[at] + tiles[0][1].shape[at])
    return None
