"""Between selectors and the indices of their targets: what expert choice and the pages of a cache are routed by."""

from __future__ import annotations

from step.errors import ProgramError
from step.functions.retile import RetileStreamify
from step.functions.select import SelectIndices, TargetIndices
from step.language.arguments import checked
from step.language.dtypes import UINT32
from step.language.stream import Stream
from step.language.types import Tile

_SPLIT = RetileStreamify(1, "col", 1)


@checked
def indices_of(selectors: Stream, k: int, *, name: str = "indices") -> Stream:
    """The indices of the ``k`` targets of every selector, in ascending order: ``[..]`` becomes ``[.., k]``.

    They are UINT32 tiles ``[1, 1]``, and so are addresses. A selector with another number of targets is a fault.
    """
    return selectors.map(TargetIndices(k), name=f"{name}_row").flat_map(_SPLIT, name=name)


@checked
def selector_of(indices: Stream, targets: int, *, name: str = "selector") -> Stream:
    """A selector over ``targets`` targets for every row of indices, UINT32 tiles ``[1, k]``; the shape stays.

    An index that is not below ``targets``, or comes twice in a row, is a fault. For a stream ``[.., k]`` of single
    indices it is ``.accum(SelectIndices(targets))``. Raises `ProgramError` for other elements.
    """
    graph, element = indices.graph, indices.element
    if not isinstance(element, Tile) or not element.is_static or element != Tile(UINT32, 1, element.cols):
        place = f"selector_of {name!r} ({graph.here})"
        raise ProgramError(f"{place}: rows of indices are UINT32 tiles of one row, but {indices} is {indices.type}")
    return indices.flat_map(_SPLIT, name=f"{name}_indices").accum(SelectIndices(targets), name=name)
