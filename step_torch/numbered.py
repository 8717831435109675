"""Scalars and rows by numbers that data decides: read from memory, picked out of a tile, or put into one; and sorted.

A scalar is picked by comparing the number of every column with its own, and by the sum of what is left, which is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf, prod
from typing import TYPE_CHECKING, Any

from step import BOOL, FP32, INT32, UINT32, Stream, Tile
from step.functions import Add, Cast, Clamp, Compare, ExpertTiles, Max, RetileStreamify, RowSum, Where
from step.language.function import AccumFunction
from step_torch.layouts import AxisPart, TileLayout, Value, sizes, whole
from step_torch.lowerings.elementwise import renamed, restricted
from step_torch.pieces import plain, with_dim
from step_torch.sources import Stored

if TYPE_CHECKING:
    from step_torch.importing import Importer

WHY = "scalars are looked at one by one"

_LARGEST = 2.0**128 - 2.0**104
"""The largest number of FP32, which counts as infinity does: BF16 has it not."""


def rows(at: Importer, table: Any, numbers: Any) -> Value:
    """``numbers`` of the first dimension of ``table``: [*numbers, *rest of the table]."""
    number = scalars(at, at.value(numbers))
    lies_so = isinstance(table, Stored) and len({*at.sources.rows_in_memory(table)}) == 1
    table = table if lies_so else plain(at, at.value(table))
    rest = table.dims[1:]
    count, width = sizes(table.dims[:1])[0], sizes(rest[-1:])[0] if rest else 1
    below = tuple(AxisPart(axis, axis.extent) for axes in rest[:-1] for axis in axes)
    columns = whole(rest[-1][0]) if rest and rest[-1] else None
    address = number.stream.map(Cast(UINT32), name=at.name("number"))
    if isinstance(table, Stored):
        tensor = at.sources.tensor(table)
    else:
        loops = tuple(AxisPart(axis, axis.extent) for axis in table.dims[0])
        value = at.joiner.to(table, TileLayout((*loops, *below), None, columns), WHY)
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
    value = at.joiner.in_order(value, WHY)
    return replace(value, layout=TileLayout(value.layout.loops))


def gathered(at: Importer, x: Value, index: Value) -> Value:
    """The columns ``index`` of every row of ``x``, whose tiles have whole rows."""
    index = renamed(at, at.joiner.columns(plain(at, index), 1, WHY), (*x.dims[:-1], *index.dims[-1:]))
    layout = replace(index.layout, columns=x.layout.columns)
    stream = at.joiner.to(x, layout, "a row is there for each of its numbers").stream
    return replace(index, stream=_picked(at, _hits(at, index, x.layout.tile[1]), stream), dtype=x.dtype)


def scattered(at: Importer, x: Value, index: Value, source: Value | float, *, adds: bool) -> Value:
    """``x``, whose tiles have whole rows, with ``source`` at the columns ``index`` of every row, or added there."""
    lead = index if isinstance(source, int | float) else source
    lead = renamed(at, at.joiner.columns(plain(at, lead), 1, WHY), (*x.dims[:-1], *lead.dims[-1:]))
    along = [part for part in lead.layout.loops if part.axis in lead.dims[-1]]
    outer = tuple(part for part in lead.layout.loops if part not in along)
    lead = at.joiner.reordered(lead, (*outer, *along), WHY)
    index = renamed(at, plain(at, index), lead.dims)
    hits = _hits(at, at.joiner.to(index, restricted(lead.layout, index.dims), WHY), x.layout.tile[1])
    old = at.joiner.to(x, TileLayout(outer, lead.layout.rows, x.layout.columns), WHY)

    def folded(stream: Stream, function: AccumFunction, name: str) -> Stream:
        return stream.accum(function, rank=len(along), name=at.name(name)) if along else stream

    def summed(hits: Stream) -> Stream:
        there = hits.map(Where(), lead.stream, _zero(at, lead.stream), name=at.name("there"))
        return folded(there, Add(), "added")

    if adds:
        return replace(old, stream=old.stream.map(Add(out=at.dtype), summed(hits), name=at.name()))
    turns = [*range(1, prod(part.count for part in along) + 1)]  # the last one of equal numbers stays
    turn = at.graph.generate(Tile(FP32), turns, reference=hits, name=at.name("turn"))
    put = folded(hits.map(Where(), turn, _zero(at, turn), name=at.name("hits")), Max(), "put")
    is_put = put.map(Compare(">"), _zero(at, put), name=at.name("is_put"))
    if isinstance(source, int | float):
        given = at.graph.constant(source, dtype=at.dtype, reference=put, name=at.name("given"))
    else:
        last = put
        for part in along:
            last = last.repeat(part.count, name=at.name("last"))
        given = at.rounded(summed(last.map(Compare("=="), turn, name=at.name("stays"))) if along else summed(hits))
    stream = is_put.map(Where(), given, old.stream, name=at.name())
    return replace(old, stream=stream)


@dataclass
class Ordered:
    """The first ``count`` scalars in order of every row of ``x``, a tile of whole rows; of equal ones the first.

    The place of each is the number of those before it. NaN is larger than all others, as in torch.
    """

    x: Value
    count: int
    largest: bool
    made: dict[bool, Value] = field(default_factory=dict)
    """Results that somebody has read: scalars, or the columns that they are in."""
    _hits: Stream | None = None

    def result(self, at: Importer, *, columns: bool) -> Value:
        """The scalars, or the columns that they are in."""
        if columns not in self.made:
            given = _numbers(at, self.x.stream, self.x.layout.tile[1]) if columns else self.x.stream
            hits = self.hits(at)
            axis = at.axis("order", self.count)
            loop, column = ((AxisPart(axis, self.count),), AxisPart(axis, 1)) if self.count > 1 else ((), None)
            layout = replace(self.x.layout, loops=(*self.x.layout.loops, *loop), columns=column)
            stream = _picked(at, hits, given.repeat(self.count, name=at.name("again")) if loop else given)
            dtype = INT32 if columns else self.x.dtype
            self.made[columns] = Value(stream, with_dim(self.x.dims, -1, axis), layout, dtype)
        return self.made[columns]

    def hits(self, at: Importer) -> Stream:
        """Which column of a row comes at each place."""
        if self._hits is None:
            x, size, graph = self.x.stream, self.x.layout.tile[1], at.graph
            if x.element.tiles[0].dtype.is_float:
                is_number = x.map(Compare("=="), x, name=at.name("is_number"))
                behind = graph.constant(inf, dtype=FP32, reference=x, name=at.name("behind_all"))
                finite = x.map(Clamp(-inf, _LARGEST, out=FP32), name=at.name("finite"))
                x = is_number.map(Where(), finite, behind, name=at.name("in_order"))
            other, own = x.flat_map(RetileStreamify(1, "col", rank=1), name=at.name("other")), x.repeat(size)
            relations = (">", ">=") if self.largest else ("<", "<=")
            over, equal = (other.map(Compare(each), own, name=at.name("over")) for each in relations)
            wins = [[[before < column for column in range(size)]] for before in range(size)]
            earlier = graph.generate(Tile(BOOL, 1, size), wins, reference=other, name=at.name("earlier"))
            before = earlier.map(Where(), equal, over, name=at.name("before")).map(Cast(FP32), name=at.name("ones"))
            place = before.accum(Add(), name=at.name("place"))
            place = place.repeat(self.count, name=at.name("places")) if self.count > 1 else place
            wanted = graph.generate(Tile(FP32), [*range(self.count)], reference=place, name=at.name("wanted"))
            self._hits = place.map(Compare("=="), wanted, name=at.name("hits"))
        return self._hits


def _hits(at: Importer, index: Value, columns: int) -> Stream:
    """Which of so many columns each of the numbers ``index``, in tiles of one column, says."""
    return index.stream.map(Compare("=="), _numbers(at, index.stream, columns), name=at.name("is_there"))


def _numbers(at: Importer, like: Stream, columns: int) -> Stream:
    """The number of every column."""
    return at.graph.constant([[*range(columns)]], dtype=INT32, reference=like, name=at.name("numbers"))


def _picked(at: Importer, hits: Stream, rows: Stream) -> Stream:
    """The one scalar of every row that is hit."""
    one = hits.map(Where(), rows, _zero(at, rows), name=at.name("hit"))
    return one.map(RowSum(out=rows.element.tiles[0].dtype), name=at.name("picked"))


def _zero(at: Importer, like: Stream) -> Stream:
    return at.graph.constant(0, dtype=like.element.tiles[0].dtype, reference=like, name=at.name("zero"))
