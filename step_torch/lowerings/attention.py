"""Attention, of all rows at once (prefill) or of a new row behind those of a cache (decode).

It takes queries, keys and values in tiles of one head each, and gives such tiles. Keys and values are read for every
tile of queries and every head of a group, so prefill holds them on chip; where a row sees only some near it, these are
read from memory. Weights are relative to the largest score so far, and sums shrink where that grows.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod, sqrt
from typing import Any

import numpy as np

from step import BF16, FP32, UINT32, Stream
from step.functions import (
    Add,
    AppendRow,
    CacheEnd,
    Cast,
    Div,
    Matmul,
    Max,
    Min,
    RetileRow,
    RetileStreamify,
    Scale,
    SetRow,
)
from step_models import weighing
from step_models.attending import Attention
from step_torch.caches import Cache
from step_torch.importing import Importer
from step_torch.layouts import AxisPart, TensorAxis, TileLayout, Value, sizes
from step_torch.loops import in_loops, in_one_loop
from step_torch.lowerings.shapes import Cached
from step_torch.masks import NEVER, NOTHING, Scores
from step_torch.ragged import filled
from step_torch.registry import lowers
from step_torch.sources import Stored, Unsupported, supported


@lowers("step.attention.default")
def attention(
    at: Importer,
    query: Any,
    key: Any,
    value: Any,
    scale: float,
    mask: Any = None,
    sinks: Any = None,
    causal: bool = True,
    window: int | None = None,
    softcap: float | None = None,
) -> Value:
    """Attention whose last query is as far as the last key."""
    supported(at.meta.dtype == "bfloat16", f"its result is {at.meta.dtype}; bfloat16 has a lowering")
    parts = [each.new if isinstance(each, Cached) else each for each in (query, key, value)]
    q, k, v = (sizes(each.dims) for each in parts)
    if len(q) != 4 or k[:3] != v[:3] or (q[0], q[-1]) != (k[0], k[-1]):
        shapes = f"queries {list(q)}, keys {list(k)} and values {list(v)}"
        raise Unsupported(f"{shapes}; [batch, heads, rows, size] with as many keys as values has a lowering")
    supported(not q[1] % k[1], f"{q[1]} heads of queries can not share {k[1]} heads of keys")
    scores = Scores(scale, causal, window, softcap, mask)
    if isinstance(key, Cached) and isinstance(value, Cached):
        return _decode(at, _head_by_head(at, query), key, value, scores.known(q[2], sizes(key.dims)[2]), sinks)
    scores = scores.known(q[2], k[2])
    heads = [_head_by_head(at, each, ragged=scores.is_known) for each in (query, key, value)]
    return _prefill(at, heads[0], heads[1], heads[2], scores, sinks)


@lowers("aten.scaled_dot_product_attention.default")
def scaled_dot_product_attention(
    at: Importer,
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """The same of torch itself, where causal ones count keys from the first query on."""
    supported(not dropout, f"it drops {dropout} of its weights, and only attention that drops none has a lowering")
    size, rows, keys = sizes(query.dims)[-1], sizes(query.dims)[-2], sizes(key.dims)[-2]
    if is_causal and (isinstance(key, Cached) or isinstance(value, Cached) or rows != keys):
        raise Unsupported("is_causal hides the keys behind a query's own number, all new ones of a cache")
    return attention(at, query, key, value, 1 / sqrt(size) if scale is None else scale, mask, None, is_causal)


def _prefill(at: Importer, q: Value, k: Value, v: Value, scores: Scores, sinks: Any) -> Value:
    batch, rows, keys = q.dims[0], q.dims[2], TensorAxis(at.name("keys"), _extent(k, 2))
    heads, group = _heads(at, q, k)
    split = _grouped(q, heads, group)
    of_batch = tuple(each for each in split.layout.loops if each.axis in batch)
    row_loops = tuple(each for each in split.layout.loops if each.axis in rows)
    head_loops = tuple(AxisPart(axis, axis.extent) for axis in split.dims[1])
    outer = (*of_batch, *row_loops, *head_loops)
    split = at.joiner.reordered(split, outer, "queries come head by head")
    why = "keys and values are read for every tile of queries"
    if [k.layout.reach(axis) for axis in k.dims[2]] != [v.layout.reach(axis) for axis in v.dims[2]]:
        k, v = at.value(k), at.value(v)
    size, ragged = k.layout.tile[0], bool(k.ragged)
    v = at.joiner.rows(v, size, why)
    for axis in v.dims[2]:  # a weight of nothing times infinity would be NaN
        v = filled(at, v, axis, 0.0)
    is_near = split.layout.tile[0] == size and (scores.causal or not ragged)
    near = scores.near(_extent(q, 2), keys.extent, size) if is_near else None
    k, v = (_with_axes(each, batch, heads, keys) for each in (k, v))
    if near is None:
        tiles = AxisPart(keys, -(-keys.extent // size), size)
        k, v = (at.joiner.reordered(each, (*outer, tiles), why) for each in (k, v))
    else:
        keys = TensorAxis(at.name("near"), (sum(near) + 1) * size)
        tiles = AxisPart(keys, sum(near) + 1, size)
        k, v = (_of_those_near(at, each, outer, tiles, rows[0], near) for each in (k, v))
    queries = split.stream.repeat(tiles.count, name=at.name("queries"))
    score = queries.map(Matmul(transposed=True, sum=at.tiling.sum), k.stream, name=at.name("product"))
    score = score.map(Scale(scores.scale), name=at.name("score"))
    score = weighing.capped(score, scores.softcap, f"{at.name('cap')}_")
    layout = TileLayout((*outer, tiles), split.layout.rows, AxisPart(keys, size))
    dims = (batch, *((axis,) if axis.extent > 1 else () for axis in (heads, group)), rows, (keys,))
    score = scores.masked(at, score, Value(score, dims, layout, FP32), near)
    if not scores.causal:  # else those that are not there are behind all rows
        score = filled(at, Value(score, dims, layout, FP32), keys, NEVER).stream
    sink = None
    if sinks is not None:
        column = _of_heads(sinks, heads, group)
        sink = at.in_layout(column, TileLayout(outer), "a sink is read for every tile").stream
    elif scores.blind:
        sink = at.graph.constant(NOTHING, dtype=FP32, reference=split.stream, name=at.name("nothing"))
    total, weights = weighing.online(score, v.stream, sum=at.tiling.sum, prefix=f"{at.name('weighed')}_", sink=sink)
    stream = total.map(Div(out=BF16), weights, name=at.name())
    columns = replace(split.layout, columns=v.layout.columns)
    return Value(stream, (*split.dims[:-1], v.dims[-1]), columns, BF16)


def _of_those_near(
    at: Importer, value: Value, outer: tuple[AxisPart, ...], tiles: AxisPart, rows: TensorAxis, near: tuple[int, int]
) -> Value:
    """Tiles of keys or values near those of the queries, out of memory, which has some before the first one."""
    height, width = value.layout.tile
    (dtype,), loops = (each.dtype for each in value.stream.element.tiles), value.layout.loops
    strides = {part.axis: prod(value.layout.extents[number + 1 :]) for number, part in enumerate(loops)}
    step = next(strides[axis] for axes in value.dims[2:3] for axis in axes)
    count = prod(value.layout.extents) + sum(near) * step
    tensor = at.graph.tensor(at.name("kept"), (count * height, width), dtype)
    at.inputs[tensor.name] = np.broadcast_to(np.zeros((), dtype.numpy), tensor.shape)
    address = at.graph.count(start=near[0] * step, reference=value.stream, name=at.name("address"))
    stored = value.stream.store_random(tensor, address, name=at.name("keep"))
    last = at.graph.count(reference=stored, name=at.name("done")).accum(Max(), rank=len(loops), name=at.name("last"))
    along = {**strides, rows: step, tiles.axis: step}
    loaded = at.graph.load(
        tensor, tile=(height, width), out=[each.count for each in (*outer, tiles)],
        stride=[along.get(each.axis, 0) for each in (*outer, tiles)], reference=last, name=at.name("near"),
    )  # fmt: skip
    return replace(value, stream=loaded, layout=replace(value.layout, loops=(*outer, tiles)))


def _head_by_head(at: Importer, given: Any, *, ragged: bool = False) -> Value:
    """A value whose tiles are rows of one head, with all of its columns."""
    value = at.whole_rows(given, "a head comes with all of its columns", ragged=ragged)
    own = value.layout.rows
    if own is None or own.axis in value.dims[2]:
        return value
    return at.joiner.rows(value, 1, "heads are tiles of their own")


def _heads(at: Importer, q: Value, k: Value) -> tuple[TensorAxis, TensorAxis]:
    """Axes of the heads of keys, and of the queries that share one."""
    heads = _extent(k, 1)
    return TensorAxis(at.name("heads"), heads), TensorAxis(at.name("group"), _extent(q, 1) // heads)


def _of_heads(sinks: Any, heads: TensorAxis, group: TensorAxis) -> Stored:
    """Numbers of each head as columns, one for the queries that share a head of keys."""
    supported(isinstance(sinks, Stored) and sinks.is_parameter, "sinks are no parameter of the module")
    axes = tuple((axis,) if axis.extent > 1 else () for axis in (heads, group))
    column: Stored = sinks.formed("columns", lambda data: data.reshape(heads.extent, group.extent, 1), (*axes, ()))
    return column


def _grouped(q: Value, heads: TensorAxis, group: TensorAxis) -> Value:
    """Queries whose axis of heads is two: heads of keys, and the queries that share one."""
    own, stream = q.dims[1][0] if q.dims[1] else None, q.stream
    names = tuple(axis for axis in (heads, group) if axis.extent > 1)
    both = [AxisPart(axis, axis.extent) for axis in names]
    loops = [each for part in q.layout.loops for each in (both if part.axis == own else [part])]
    if len(names) == 2:  # one loop of the stream becomes two
        at = next(number for number, part in enumerate(q.layout.loops) if part.axis == own)
        rank = len(q.layout.loops) - 1 - at
        stream = stream.reshape(group.extent, rank=rank)[0]
    return replace(q, stream=stream, dims=(q.dims[0], names, *q.dims[2:]), layout=replace(q.layout, loops=tuple(loops)))


def _with_axes(value: Value, batch: tuple[TensorAxis, ...], heads: TensorAxis, keys: TensorAxis) -> Value:
    """Keys or values whose axes have the names that attention gives them."""
    pairs = zip(value.dims[:3], (batch, (heads,), (keys,)), strict=True)
    names = {old: new for olds, news in pairs for old, new in zip(olds, news, strict=False)}
    dims = tuple(tuple(names.get(axis, axis) for axis in axes) for axes in value.dims)
    return replace(value, dims=dims, layout=value.layout.renamed(names))


def _decode(at: Importer, q: Value, key: Cached, value: Cached, scores: Scores, sinks: Any) -> Value:
    """The new rows go into the caches, and all that a row sees of these is read."""
    new = {"keys": _head_by_head(at, key.new), "values": _head_by_head(at, value.new)}
    heads, group = _heads(at, q, new["keys"])
    supported(not q.dims[0], f"a batch of {_extent(q, 0)} behind a cache; a batch of 1 has a lowering")
    supported(not q.dims[2] and not new["keys"].dims[2], "several new rows behind a cache; one has a lowering")
    supported(scores.mask is None, "a mask of a new row behind a cache; one that hides nothing has a lowering")
    q, new = at.sources.alone(q), {name: at.sources.alone(each) for name, each in new.items()}
    widths, prefix = {name: each.layout.tile[1] for name, each in new.items()}, at.name("cache") + "_"
    cache = at.sources.cache(key.past, value.past, prefix, scores.window)
    size = widths["keys"]
    attend = Attention(
        at.graph, cache.sequences, cache.tiles, cache.rows, size, group.extent, 1, "interleaved", in_memory=False,
        prefix=prefix, sum=at.tiling.sum, factor=scores.scale, capped=scores.softcap, value_size=widths["values"],
    )  # fmt: skip
    flat = {name: in_one_loop(at, each, name) for name, each in new.items()}
    sequence = _numbers(at, cache, flat["keys"], "sequence")
    end = sequence.map(CacheEnd(cache.sequences, cache.tiles, cache.rows), cache.place, name=at.name("end"))
    stored = []
    for name, tensor in (("keys", attend.keys), ("values", attend.values)):
        last = end.load_random(tensor, tile=(cache.rows, widths[name]), name=at.name(f"last_{name}"))
        longer = last.map(
            AppendRow() if cache.window is None else SetRow(), cache.row, flat[name], name=at.name(f"append_{name}")
        )
        stored.append(longer.store_random(tensor, end, name=at.name(f"store_{name}")))
    done = stored[0].zip(stored[1], name=at.name("stored"))
    one = at.graph.constant(1, dtype=UINT32, reference=done, name=at.name("one"))
    queries = in_one_loop(at, q, "queries")
    if group.extent > 1:
        queries = queries.reshape(group.extent, name=at.name("groups"))[0].accum(RetileRow(), name=at.name("group"))
    longer = cache.length.map(Add(), one, name=at.name("longer"))
    if cache.window is not None:
        most = at.graph.constant(cache.window, dtype=UINT32, reference=done, name=at.name("window"))
        longer = longer.map(Min(), most, name=at.name("in_window"))
    work = _numbers(at, cache, done, "ready").zip(longer, name=at.name("work"))
    sink = None
    if sinks is not None:
        own = new["keys"]
        column = _of_heads(sinks, own.dims[1][0] if own.dims[1] else heads, group)
        rows = AxisPart(group, group.extent) if group.extent > 1 else None
        layout = TileLayout(own.layout.loops, rows)
        sink = in_one_loop(at, at.in_layout(column, layout, "a sink is read for every row"), "sink")
        sink = sink.assume_shape(queries.shape)
    result = attend.attend(work, f"{prefix}read_", queries, sink)[0].item_of(1, name=at.name("attended"))
    stream = result.map(Cast(BF16), name=at.name("attended_rounded"))
    if group.extent > 1:
        stream = stream.flat_map(RetileStreamify(1, "row"), name=at.name("rows"))
    own = new["values"]
    columns = replace(q.layout, columns=own.layout.columns)
    return at.sources.together(Value(in_loops(at, stream, q), (*q.dims[:-1], own.dims[-1]), columns, BF16))


def _numbers(at: Importer, cache: Cache, along: Stream, name: str) -> Stream:
    """The numbers of the sequences, each as soon as ``along`` has an element for it."""
    now = at.graph.constant(0, dtype=UINT32, reference=along, name=at.name(f"{name}_now"))
    return cache.number.map(Add(), now, name=at.name(name))


def _extent(value: Value, at: int) -> int:
    return value.dims[at][0].extent if value.dims[at] else 1
