"""The largest of more scalars than a tile has."""

from __future__ import annotations

from step.errors import ProgramError
from step.functions.elementwise import Add
from step.functions.max_index import MaxIndex
from step.functions.row import ArgMax, RowMax
from step.language.arguments import checked
from step.language.function import NUMBER
from step.language.stream import Stream
from step.language.types import Tile


@checked
def arg_max(tiles: Stream, *, name: str = "arg_max") -> Stream:
    """The column of the largest scalar of every row, of equal ones the first, where a row goes on in the next tile.

    ``tiles`` is a stream ``[.., n]`` of tiles ``[rows, columns]``, n of them side by side, as the logits of a large
    vocabulary are. The result is a stream ``[..]`` of UINT32 tiles ``[rows, 1]``, in the order of `ArgMax`.

    Raises `ProgramError` where n or the tiles are not static.
    """
    graph, element = tiles.graph, tiles.element
    if not isinstance(element, Tile) or not element.is_static or tiles.rank < 1 or not tiles.shape[-1].is_static:
        place = f"arg_max {name!r} ({graph.here})"
        raise ProgramError(f"{place}: rows must be a fixed number of static tiles, but {tiles} is {tiles.type}")
    columns, count = int(element.cols), int(tiles.shape[-1])
    begins = graph.generate(NUMBER, range(0, columns * count, columns), reference=tiles, name=f"{name}_begins")
    columns_of = tiles.map(ArgMax(), name=f"{name}_in_tile").map(Add(), begins, name=f"{name}_columns")
    best = tiles.map(RowMax(), name=f"{name}_values").accum(MaxIndex(), columns_of, name=f"{name}_best")
    return best.item_of(1, name=name)
