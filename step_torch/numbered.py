"""Scalars and rows by numbers that data decides: read from memory, picked out of a tile, or put into one; and sorted.

A scalar is picked by comparing the number of every column with its own, and by the sum of what is left, which is exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from step import BF16, BOOL, FP32, INT32, UINT32, Stream, Tile
from step.functions import Add, Cast, Compare, ExpertTiles, Max, RetileStreamify, RowSum, Where
from step_torch.layouts import AxisPart, TensorAxis, TileLayout, Value, sizes, whole
from step_torch.lowerings.elementwise import renamed, restricted
from step_torch.pieces import plain, with_dim
from step_torch.sources import Stored

if TYPE_CHECKING:
    from step_torch.importing import Importer

WHY = "scalars are looked at one by one"


def rows(at: Importer, table: Any, numbers: Any) -> Value:
    """``numbers`` of the first dimension of ``table``: [*numbers, *rest of the table]."""
    number = scalars(at, at.value(numbers))
    rest = table.dims[1:]
    count, width = sizes(table.dims[:1])[0], sizes(rest[-1:])[0] if rest else 1
    below = tuple(AxisPart(axis, axis.extent) for axes in rest[:-1] for axis in axes)
    columns = whole(rest[-1][0]) if rest and rest[-1] else None
    address = number.stream.map(Cast(UINT32), name=at.name("number"))
    if isinstance(table, Stored):
        tensor = at.sources.tensor(table)
    else:
        loops = tuple(AxisPart(axis, axis.extent) for axis in table.dims[0])
        value = at.joiner.to(plain(at, at.value(table)), TileLayout((*loops, *below), None, columns), WHY)
        tensor, last = at.joiner.stored(value, WHY)
        zero = at.graph.constant(0, number.layout.extents, dtype=UINT32, reference=last, name=at.name("there"))
        address = address.map(Add(), zero, name=at.name("address"))
    for part in below:
        address = address.flat_map(ExpertTiles(count, part.count), name=at.name("below"))
        count *= part.count
    stream = address.load_random(tensor, tile=(1, width), name=at.name("rows"))
    layout = TileLayout((*number.layout.loops, *below), None, columns)
    return Value(stream, (*number.dims, *rest), layout, stream.element.tiles[0].dtype)


def scalars(at: Importer, value: Value) -> Value:
    """``value`` in tiles of one scalar, in the order of torch."""
    value = at.joiner.rows(at.joiner.columns(plain(at, value), 1, WHY), 1, WHY)
    order = [axis for axes in value.dims for axis in axes]
    loops = sorted(value.layout.loops, key=lambda part: (order.index(part.axis), -part.step))
    value = at.joiner.reordered(value, loops, WHY)
    return replace(value, layout=TileLayout(value.layout.loops))


def gathered(at: Importer, x: Value, index: Value) -> Value:
    """The columns ``index`` of every row of ``x``, whose tiles have whole rows."""
    index = renamed(at.joiner.columns(plain(at, index), 1, WHY), (*x.dims[:-1], *index.dims[-1:]))
    layout = replace(index.layout, columns=x.layout.columns)
    stream = at.joiner.to(x, layout, "a row is there for each of its numbers").stream
    return replace(index, stream=_picked(at, _hits(at, index, x.layout.tile[1]), stream), dtype=x.dtype)


def scattered(at: Importer, x: Value, index: Value, source: Value | float, *, adds: bool) -> Value:
    """``x``, whose tiles have whole rows, with ``source`` at the columns ``index`` of every row, or added there."""
    lead = index if isinstance(source, int | float) else source
    lead = renamed(at.joiner.columns(plain(at, lead), 1, WHY), (*x.dims[:-1], *lead.dims[-1:]))
    along = [part for part in lead.layout.loops if part.axis in lead.dims[-1]]
    outer = tuple(part for part in lead.layout.loops if part not in along)
    lead = at.joiner.reordered(lead, (*outer, *along), WHY)
    index = renamed(plain(at, index), lead.dims)
    hits = _hits(at, at.joiner.to(index, restricted(lead.layout, index.dims), WHY), x.layout.tile[1])
    number = isinstance(source, int | float)
    given = (
        at.graph.constant(source, dtype=FP32, reference=lead.stream, name=at.name("given")) if number else lead.stream
    )
    there = hits.map(Where(), given, _zero(at, given), name=at.name("there"))
    put = hits.map(Cast(BF16), name=at.name("hits"))
    if along:
        there = there.accum(Add(), rank=len(along), name=at.name("added"))
        put = put.accum(Max(), rank=len(along), name=at.name("put"))
    old = at.joiner.to(x, TileLayout(outer, lead.layout.rows, x.layout.columns), WHY)
    if adds:
        stream = old.stream.map(Add(out=at.dtype), there, name=at.name())
    else:
        there = at.rounded(there)
        stream = put.map(Compare(">"), _zero(at, put), name=at.name("is_put")).map(
            Where(), there, old.stream, name=at.name()
        )
    return replace(old, stream=stream)


def ordered(at: Importer, x: Value, count: int, *, largest: bool) -> tuple[Value, Value]:
    """The first ``count`` of every row of ``x`` in order, of equal ones the first, and the columns that they are in."""
    columns = x.layout.columns
    size, graph = x.layout.tile[1], at.graph
    if columns is None or size == 1:
        return x, replace(
            x, stream=graph.constant(0, dtype=INT32, reference=x.stream, name=at.name("first")), dtype=INT32
        )
    alone = x.stream.flat_map(RetileStreamify(1, "col", rank=1), name=at.name("alone"))
    each = x.stream.repeat(size, name=at.name("each"))
    over, equal = (
        alone.map(Compare(how), each, name=at.name("before")) for how in ((">", ">=") if largest else ("<", "<="))
    )
    wins = [[[other < own for own in range(size)]] for other in range(size)]
    earlier = graph.generate(Tile(BOOL, 1, size), wins, reference=alone, name=at.name("earlier"))
    before = earlier.map(Where(), equal, over, name=at.name("is_before"))
    place = before.map(Cast(FP32), name=at.name("ones")).accum(Add(), name=at.name("place"))
    axis = TensorAxis(at.name("order"), count)
    dims, part = with_dim(x.dims, -1, axis), (AxisPart(axis, count),) if count > 1 else ()
    layout = replace(x.layout, loops=(*x.layout.loops, *part), columns=AxisPart(axis, 1) if part else None)

    def again(stream: Stream) -> Stream:
        return stream.repeat(count, name=at.name("again")) if part else stream

    place = again(place)
    wanted = graph.generate(Tile(FP32), [*range(count)], reference=place, name=at.name("wanted"))
    hits = place.map(Compare("=="), wanted, name=at.name("hits"))
    numbers = graph.constant([[*range(size)]], dtype=INT32, reference=hits, name=at.name("numbers"))
    streams = (_picked(at, hits, each) for each in (again(x.stream), numbers))
    values, numbers = (Value(stream, dims, layout, stream.element.tiles[0].dtype) for stream in streams)
    return values, numbers


def _hits(at: Importer, index: Value, columns: int) -> Stream:
    """Which of so many columns each of the numbers ``index``, in tiles of one column, says."""
    numbers = at.graph.constant([[*range(columns)]], dtype=INT32, reference=index.stream, name=at.name("columns"))
    return index.stream.map(Compare("=="), numbers, name=at.name("is_there"))


def _picked(at: Importer, hits: Stream, rows: Stream) -> Stream:
    """The one scalar of every row that is hit."""
    dtype = rows.element.tiles[0].dtype
    one = hits.map(Where(), rows, _zero(at, rows), name=at.name("hit"))
    return one.map(RowSum(out=dtype), name=at.name("picked"))


def _zero(at: Importer, like: Stream) -> Stream:
    return at.graph.constant(0, dtype=like.element.tiles[0].dtype, reference=like, name=at.name("zero"))
