"""Attention, of all rows at once (prefill) or of a new row behind those of a cache (decode).

It takes queries, keys and values in tiles of one head each, and gives such tiles. Keys and values are read for every
tile of queries and every head of a group, so prefill holds them on chip; where a row sees only some near it, these are
read from memory. Weights are relative to the largest score so far, and sums shrink where that grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from math import prod, sqrt
from typing import Any

import numpy as np

from step import BF16, FP32, UINT32, Stream, Tensor
from step.functions import (
    Add,
    AppendRow,
    CacheEnd,
    Cast,
    Div,
    Matmul,
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
from step_torch.layouts import AxisPart, Dims, TensorAxis, TileLayout, Value, sizes, whole
from step_torch.loops import in_loops, in_one_loop, in_turns, taken_apart
from step_torch.lowerings.elementwise import renamed
from step_torch.lowerings.shapes import Cached
from step_torch.masks import NEVER, NOTHING, Scores
from step_torch.pieces import in_blocks, plain
from step_torch.ragged import filled
from step_torch.registry import lowers
from step_torch.sources import Stored, Unsupported, is_parameter, supported
from step_torch.views import in_shape


@lowers("step.attention.default")
def attention(
    at: Importer, query: Any, key: Any, value: Any, scale: float, mask: Any = None, sinks: Any = None,
    causal: bool = True, window: int | None = None, softcap: float | None = None,
) -> Value:  # fmt: skip
    """Attention whose last query is as far as the last key."""
    supported(at.meta.dtype == "bfloat16", f"its result is {at.meta.dtype}; bfloat16 has a lowering")
    parts = [each.new if isinstance(each, Cached) else each for each in (query, key, value)]
    q, k, v = (sizes(each.dims) for each in parts)
    if len(q) != 4 or k[:3] != v[:3] or (q[0], q[-1]) != (k[0], k[-1]):
        shapes = f"queries {list(q)}, keys {list(k)} and values {list(v)}"
        raise Unsupported(f"{shapes}; [batch, heads, rows, size] with as many keys as values has a lowering")
    supported(not q[1] % k[1], f"{q[1]} heads of queries can not share {k[1]} heads of keys")
    is_cached = isinstance(key, Cached) and isinstance(value, Cached)
    scores = Scores(scale, causal, window, softcap, mask).known(q[2], sizes(key.dims)[2] if is_cached else k[2])
    supported(scores.causal or scores.window is None, "a window of rows that are not causal; a mask has a lowering")
    heads = [_head_by_head(at, each, ragged=scores.is_known) for each in parts]
    if isinstance(key, Cached) and isinstance(value, Cached):
        return _decode(at, heads, (key.past, value.past), scores, sinks)
    return _prefill(at, heads, scores, sinks)


@lowers("aten.scaled_dot_product_attention.default")
def scaled_dot_product_attention(
    at: Importer, query: Any, key: Any, value: Any, mask: Any = None, dropout: float = 0.0, is_causal: bool = False, *,
    scale: float | None = None, enable_gqa: bool = False,
) -> Value:  # fmt: skip
    """The same of torch itself, where causal ones count keys from the first query on."""
    supported(not dropout, f"it drops {dropout} of its weights, and only attention that drops none has a lowering")
    size, rows, keys = sizes(query.dims)[-1], sizes(query.dims)[-2], sizes(key.dims)[-2]
    if len(query.dims) == 3 and mask is None:  # of a single head each
        query, key, value = (
            in_shape(at, each, (*sizes(each.dims)[:1], 1, *sizes(each.dims)[1:])) for each in (query, key, value)
        )
    if is_causal and (isinstance(key, Cached) or isinstance(value, Cached) or rows != keys):
        raise Unsupported(
            f"is_causal of {rows} queries and {keys} keys hides those behind a query's own number, all new ones of a "
            "cache; as many keys as queries, or a mask, has a lowering"
        )
    made = attention(at, query, key, value, 1 / sqrt(size) if scale is None else scale, mask, None, is_causal)
    return in_shape(at, made, at.meta.shape)


def _prefill(at: Importer, heads: list[Value], scores: Scores, sinks: Any) -> Value:
    q, k, v = heads
    (*_, rows, _), (*_, last, _) = sizes(q.dims), sizes(k.dims)
    split = _in_groups(at, q, sizes(k.dims)[1])
    (batch, of_heads, group, of_rows, _), outer = split.dims, split.layout.loops
    why, keys = "keys and values are read for every tile of queries", at.axis("keys", last)
    if [k.layout.reach(axis) for axis in k.dims[2]] != [v.layout.reach(axis) for axis in v.dims[2]]:
        k, v = at.value(k), at.value(v)
    size, ragged = k.layout.tile[0], bool(k.ragged)
    v = at.joiner.rows(v, size, why)
    for axis in v.dims[2]:  # a weight of nothing times infinity would be NaN
        v = filled(at, v, axis, 0.0)
    is_near = split.layout.tile[0] == size and (scores.causal or not ragged)
    near = scores.near(rows, last, size) if is_near else None
    k, v = (renamed(at, each, (batch, of_heads, (keys,), each.dims[3])) for each in (k, v))
    if near is None:
        tiles = AxisPart(keys, -(-last // size), size)
        k, v = (at.joiner.reordered(each, (*outer, tiles), why) for each in (k, v))
    else:
        keys = at.axis("near", (sum(near) + 1) * size)
        tiles = AxisPart(keys, sum(near) + 1, size)
        k, v = (_of_those_near(at, each, outer, tiles, of_rows[0], near) for each in (k, v))
    queries = split.stream.repeat(tiles.count, name=at.name("queries"))
    score = queries.map(Matmul(transposed=True, sum=at.tiling.sum), k.stream, name=at.name("product"))
    score = score.map(Scale(scores.scale), name=at.name("score"))
    score = weighing.capped(score, scores.softcap, f"{at.name('cap')}_")
    layout = TileLayout((*outer, tiles), split.layout.rows, AxisPart(keys, size))
    dims = (*split.dims[:4], (keys,))
    score = scores.masked(at, score, Value(score, dims, layout, FP32), near)
    if not scores.causal:  # else those that are not there are behind all rows
        score = filled(at, Value(score, dims, layout, FP32), keys, NEVER).stream
    sink = None
    if sinks is not None:
        sink = _sink(at, sinks, (of_heads, group), TileLayout(outer)).stream
    elif scores.blind:
        sink = at.graph.constant(NOTHING, dtype=FP32, reference=split.stream, name=at.name("nothing"))
    total, weights = weighing.online(score, v.stream, sum=at.tiling.sum, prefix=f"{at.name('weighed')}_", sink=sink)
    stream = total.map(Div(out=BF16), weights, name=at.name())
    columns = replace(split.layout, columns=v.layout.columns)
    return Value(stream, (batch, of_heads + group, of_rows, v.dims[-1]), columns, BF16)


def _in_groups(at: Importer, q: Value, count: int) -> Value:
    """Queries [batch, heads of keys, group, rows, size], of which a group shares one of ``count`` heads of keys."""
    batch, heads, *rest = sizes(q.dims)
    split = in_shape(at, q, (batch, count, heads // count, *rest))
    of_batch, *of_heads, of_rows, _ = split.dims
    kept = [part for axes in (of_batch, of_rows) for part in split.layout.loops if part.axis in axes]
    outer = (*kept, *(AxisPart(axis, axis.extent) for axes in of_heads for axis in axes))
    return at.joiner.reordered(split, outer, "queries come head by head")


def _of_those_near(
    at: Importer, value: Value, outer: tuple[AxisPart, ...], tiles: AxisPart, rows: TensorAxis, near: tuple[int, int]
) -> Value:
    """Tiles of keys or values near those of the queries, out of memory, which has some before the first one."""
    along = {part.axis: prod(value.layout.extents[place + 1 :]) for place, part in enumerate(value.layout.loops)}
    step = along[value.dims[2][0]]
    before, behind = (each * step for each in near)
    tensor, last = at.joiner.stored(value, "keys near a query are read for it", before, behind)
    along |= {rows: step, tiles.axis: step}
    loops = (*outer, tiles)
    loaded = at.graph.load(
        tensor, tile=value.layout.tile, out=[each.count for each in loops],
        stride=[along.get(each.axis, 0) for each in loops], reference=last, name=at.name("near"),
    )  # fmt: skip
    return replace(value, stream=loaded, layout=replace(value.layout, loops=loops))


def _head_by_head(at: Importer, given: Any, *, ragged: bool = False) -> Value:
    """A value whose tiles are rows of one head, with all of its columns."""
    value = at.whole_rows(given, "a head comes with all of its columns", ragged=ragged)
    own = value.layout.rows
    if own not in (None, at.sources.rows) and own.axis not in value.dims[2]:
        value = at.joiner.rows(value, 1, "heads are tiles of their own")
    value = plain(at, value)
    for axis in chain(*value.dims[:-1]):
        value, _ = in_blocks(at, value, axis, value.layout.side(axis)[1].count)
    return value


def _sink(at: Importer, sinks: Any, heads: Dims, layout: TileLayout) -> Value:
    """Scores of nothing of each head, in a ``layout`` over axes of ``heads``: of keys, and of queries for each."""
    supported(is_parameter(sinks), "sinks are no parameter of the module")
    column = replace(in_shape(at, sinks, (*sizes(heads), 1)), dims=(*heads, ()))
    return at.in_layout(column, layout, "a sink is read for every tile")


def _decode(at: Importer, heads: list[Value], past: tuple[Stored, Stored], scores: Scores, sinks: Any) -> Value:
    """The new rows go into the caches, and all that a row sees of these is read."""
    (batch, count, rows, _), (_, shared, more, _) = (sizes(each.dims) for each in heads[:2])
    supported(batch == 1, f"a batch of {batch} behind a cache; a batch of 1 has a lowering")
    supported(rows == more == 1, "several new rows behind a cache; one has a lowering")
    q, k, v = (at.sources.alone(each) for each in heads)
    group = count // shared
    new = {name: in_one_loop(at, each, name) for name, each in {"keys": k, "values": v, "queries": q}.items()}
    if group > 1:
        each = new["queries"].reshape(group, name=at.name("groups"))[0]
        new["queries"] = each.accum(RetileRow(), name=at.name("group"))
    if sinks is not None:
        axis = () if group == 1 else (at.axis("group", group),)
        column = _sink(at, sinks, (k.dims[1], axis), TileLayout(k.layout.loops, whole(next(iter(axis), None))))
        new["sink"] = in_one_loop(at, at.sources.for_rows(column), "sink").assume_shape(new["queries"].shape)
    slopes = None if scores.mask is None else np.broadcast_to(scores.slopes(), count).reshape(shared, group)
    units = max(each for each in range(1, at.tiling.heads + 1) if shared % each == 0)
    dealt = {name: taken_apart(at, each, units, name) for name, each in new.items()}
    results, prefix = list[Stream](), f"{at.name('cache')}_"
    for unit in range(units):
        keys, values = (replace(each, data=each.data[:, unit::units]) for each in past)
        cache = at.sources.cache(keys, values, prefix + f"{unit}_" * (units > 1), scores.window)
        part = {name: each[unit].assume_shape(cache.length.shape) for name, each in dealt.items()}
        results.append(_attended(at, cache, part, scores, None if slopes is None else slopes[unit::units]))
    stream = in_turns(at, results)
    if group > 1:
        stream = stream.flat_map(RetileStreamify(1, "row"), name=at.name("rows"))
    dims, layout = (*q.dims[:-1], v.dims[-1]), replace(q.layout, columns=v.layout.columns)
    return at.sources.together(Value(in_loops(at, stream, q.stream), dims, layout, BF16))


def _attended(
    at: Importer, cache: Cache, new: Mapping[str, Stream], scores: Scores, slopes: np.ndarray | None
) -> Stream:
    """What queries see of the heads of a ``cache``, behind which the new keys and values go."""
    tiles = (new[name].element.tiles[0].shape for name in ("queries", "keys", "values"))
    (group, _), (_, width), (_, value_width) = tiles
    attend = Attention(
        at.graph, cache.sequences, cache.tiles, cache.rows, width, group, 1, "interleaved", in_memory=False,
        prefix=cache.prefix, sum=at.tiling.sum, factor=scores.scale, capped=scores.softcap, value_size=value_width,
    )  # fmt: skip
    done = _appended(at, cache, {"keys": (attend.keys, new["keys"]), "values": (attend.values, new["values"])})
    one = at.graph.constant(1, dtype=UINT32, reference=done, name=at.name("one"))
    longer = cache.length.map(Add(), one, name=at.name("longer"))
    if cache.window is not None:
        most = at.graph.constant(cache.window, dtype=UINT32, reference=done, name=at.name("window"))
        longer = longer.map(Min(), most, name=at.name("in_window"))
    ready = _numbers(at, cache, done, "ready")
    work = ready.zip(longer, name=at.name("work"))
    bias = None if slopes is None else _bias(at, cache, slopes)
    results, _ = attend.attend(work, f"{cache.prefix}read_", new["queries"], new.get("sink"), bias)
    if cache.turns is not None:  # in a window the next row takes the place of one that this row sees
        cache.turns.next(ready if cache.window is None else results.item_of(0, name=at.name("seen")))
    return results.item_of(1, name=at.name("attended")).map(Cast(BF16), name=at.name("attended_rounded"))


def _appended(at: Importer, cache: Cache, new: Mapping[str, tuple[Tensor, Stream]]) -> Stream:
    """An element as soon as the new rows of a sequence are in their tensors of the cache."""
    end = _numbers(at, cache, new["keys"][1], "sequence")
    end = end.map(CacheEnd(cache.sequences, cache.tiles, cache.rows), cache.place, name=at.name("end"))
    stored, put = list[Stream](), AppendRow() if cache.window is None else SetRow()
    for name, (tensor, row) in new.items():
        last = end.load_random(tensor, tile=(cache.rows, tensor.shape[1]), name=at.name(f"last_{name}"))
        longer = last.map(put, cache.row, row, name=at.name(f"append_{name}"))
        stored.append(longer.store_random(tensor, end, name=at.name(f"store_{name}")))
    return stored[0].zip(stored[1], name=at.name("stored"))


def _bias(at: Importer, cache: Cache, slopes: np.ndarray) -> Tensor:
    """What is added to scores of all keys that caches have room for, by ``slopes`` [heads of keys, group]."""
    added = slopes[:, None, :, None] * np.arange(cache.tiles * cache.rows).reshape(1, cache.tiles, 1, cache.rows)
    added = np.tile(added.reshape(-1, cache.rows), (cache.sequences // len(slopes), 1)).astype(np.float32)
    tensor = at.graph.tensor(at.name("bias"), added.shape, FP32)
    at.inputs[tensor.name] = added
    return tensor


def _numbers(at: Importer, cache: Cache, along: Stream, name: str) -> Stream:
    """The numbers of the sequences, each as soon as ``along`` has an element for it."""
    now = at.graph.constant(0, dtype=UINT32, reference=along, name=at.name(f"{name}_now"))
    return cache.number.map(Add(), now, name=at.name(name))
