"""Rows in tiles, tiles in rows, and one for many: the usual pairs of Reshape, Promote, Accum, FlatMap and Expand."""

from __future__ import annotations

from step.errors import expect
from step.functions.retile import RetileRow, RetileStreamify
from step.language.dims import Dim
from step.language.stream import Stream, stream_method
from step.language.types import Tile


@stream_method
def tiles(stream: Stream, rows: int | None = None, *, name: str | None = None) -> Stream:
    """``[.., n]`` of tiles ``[r, columns]`` -> ``[.., ceil(n / rows)]`` of tiles ``[rows * r, columns]``.

    Always ``rows`` tiles lie below each other in one; what lacks to the last one is filled up with zeros. Without
    ``rows`` it is one tile with all of them, of as many rows as there are: ``[..]``, and ``[1 if n > 0 else 0]`` for a
    stream of rank 0.
    """
    _check_tiles(stream, "tiles")
    if rows is not None:
        (stream, _) = stream.reshape(rows)
    elif stream.rank == 0:
        stream = stream.promote()
    return stream.accum(RetileRow(), name=name)


@stream_method
def rows(stream: Stream, of: Stream | int | Dim | None = None, *, name: str | None = None) -> Stream:
    """``[.., n]`` of tiles ``[r, columns]`` -> ``[.., n * r]`` of their rows ``[1, columns]``.

    ``of``: how many rows there are in the innermost dimension, or a stream of as many, where the types do not tell;
    every run checks it. A stream of a dimension more, ``[.., n, r]``, has the rows of a tile in that: so
    ``x.tiles().rows(of=x)`` has the shape of x.
    """
    _check_tiles(stream, "rows")
    rank = int(isinstance(of, Stream) and of.rank == stream.rank + 1)
    split: Stream = stream.flat_map(RetileStreamify(1, "row", rank=rank), name=name)
    if of is None:
        return split
    return split.assume_shape(of.shape if isinstance(of, Stream) else (*split.shape[:-1], of))


@stream_method
def along(stream: Stream, reference: Stream, *, name: str | None = None) -> Stream:
    """``[..]`` of anything -> ``[.., n]``, the shape of ``reference``: every element as often as that has some.

    So a query meets all keys of its request, and a sum all terms.
    """
    (alone, _) = stream.reshape(1)
    return alone.expand(reference, name=name)


def _check_tiles(stream: Stream, what: str) -> None:
    expect(isinstance(stream.element, Tile), f"{stream} has elements {stream.element}, and no {what}")
