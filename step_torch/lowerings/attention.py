"""Causal attention, of all rows at once (prefill) or of a new row behind those of a cache (decode).

It takes queries, keys and values in tiles of one head each, and gives such tiles. Keys and values are read for every
tile of queries and every head of a group, so prefill holds them on chip. Weights are relative to the largest score so
far, and sums shrink where that grows.
"""

from __future__ import annotations

from dataclasses import replace
from math import isclose, sqrt
from typing import Any

from step import BF16, UINT32, Stream
from step.functions import Add, AppendRow, CacheEnd, Cast, CausalMask, Div, Matmul, RetileRow, RetileStreamify, Scale
from step.language.function import NUMBER
from step_models import weighing
from step_models.attending import Attention
from step_torch.caches import Cache
from step_torch.importing import Importer
from step_torch.layouts import AxisPart, TensorAxis, Value, sizes
from step_torch.loops import in_loops, in_one_loop
from step_torch.lowerings.shapes import Cached
from step_torch.registry import lowers
from step_torch.sources import Unsupported, supported


@lowers("step.attention.default")
def attention(at: Importer, query: Any, key: Any, value: Any, scale: float) -> Value:
    """Attention whose last query sees all keys."""
    supported(at.meta.dtype == "bfloat16", f"its result is {at.meta.dtype}; bfloat16 has a lowering")
    parts = [each.new if isinstance(each, Cached) else each for each in (query, key, value)]
    q, k, v = (sizes(each.dims) for each in parts)
    if len(q) != 4 or k != v or q[-1] != k[-1]:
        shapes = f"queries {list(q)}, keys {list(k)} and values {list(v)}"
        raise Unsupported(f"{shapes}; [1, heads, rows, size] with one size, and as many keys as values, has a lowering")
    if isinstance(key, Cached) and isinstance(value, Cached):
        return _decode(at, at.value(query), key, value, scale)
    return _prefill(at, at.value(query), at.value(key), at.value(value), scale)


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
    """The same of torch itself, where it is causal."""
    if mask is not None or dropout or not is_causal:
        raise Unsupported("attention must be causal, without a mask and without dropout")
    if isinstance(key, Cached) or isinstance(value, Cached):
        raise Unsupported("is_causal hides the keys behind a query's own number, all new ones of a cache")
    return attention(at, query, key, value, 1 / sqrt(sizes(query.dims)[-1]) if scale is None else scale)


def _prefill(at: Importer, q: Value, k: Value, v: Value, scale: float) -> Value:
    rows, heads, group = _axes_of(at, q, k)
    if rows is None or _extent(k, 2) != rows.extent:
        raise Unsupported("attention needs as many keys as queries, or a cache")
    keys = TensorAxis(at.name("keys"), rows.extent)
    split = _grouped(q, heads, group)
    row_loops = tuple(each for each in split.layout.loops if each.axis == rows)
    head_loops = tuple(AxisPart(axis, axis.extent) for axis in split.dims[1])
    split = at.joiner.reordered(split, (*row_loops, *head_loops), "queries come head by head")
    size = split.layout.tile[0]
    tiles = AxisPart(keys, keys.extent // size, size)
    loops = (*row_loops, *head_loops, tiles)
    why = "keys and values are read for every tile of queries"
    k, v = (at.joiner.reordered(_with_axes(each, heads, keys), loops, why) for each in (k, v))
    queries = split.stream.repeat(tiles.count, name=at.name("queries"))
    score = queries.map(Matmul(transposed=True, sum=at.tiling.sum), k.stream, name=at.name("product"))
    score = score.map(Scale(scale), name=at.name("score"))
    firsts = range(0, rows.extent, size)
    query_row = at.graph.generate(NUMBER, firsts, [1, *(each.count for each in row_loops)], name=at.name("query_row"))
    for part in (*head_loops, tiles):
        query_row = query_row.repeat(part.count, name=at.name("query_row"))
    key_row = at.graph.generate(NUMBER, firsts, reference=score, name=at.name("key_row"))
    score = score.map(CausalMask(), query_row, key_row, name=at.name("masked"))
    total, weights = weighing.online(score, v.stream, sum=at.tiling.sum, prefix=f"{at.name('weighed')}_")
    return replace(split, stream=total.map(Div(out=BF16), weights, name=at.name()), dtype=BF16)


def _axes_of(at: Importer, q: Value, k: Value) -> tuple[TensorAxis | None, TensorAxis, TensorAxis]:
    """Axes of the rows of queries, of the heads of keys, and of the queries that share one."""
    batch = sizes(q.dims)[0]
    supported(batch == 1, f"attention of a batch of {batch}; a batch of 1 has a lowering")
    heads = _extent(k, 1)
    supported(not _extent(q, 1) % heads, f"{_extent(q, 1)} heads of queries can not share {heads} heads of keys")
    rows = q.dims[2][0] if q.dims[2] else None
    return rows, TensorAxis(at.name("heads"), heads), TensorAxis(at.name("group"), _extent(q, 1) // heads)


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


def _with_axes(value: Value, heads: TensorAxis, keys: TensorAxis) -> Value:
    """Keys or values whose axes have the names that attention gives them."""
    names = {axes[0]: axis for axes, axis in ((value.dims[1], heads), (value.dims[2], keys)) if axes}
    return replace(value, layout=value.layout.renamed(names))


def _decode(at: Importer, q: Value, key: Cached, value: Cached, scale: float) -> Value:
    """The new rows go into the caches, and all of these is read."""
    new = {"keys": at.value(key.new), "values": at.value(value.new)}
    _, _, group = _axes_of(at, q, new["keys"])
    supported(not q.dims[2] and not new["keys"].dims[2], "several new rows behind a cache; one has a lowering")
    q, new = at.sources.alone(q), {name: at.sources.alone(each) for name, each in new.items()}
    size, rows, prefix = q.layout.tile[1], at.tiling.cache_rows, at.name("cache") + "_"
    supported(isclose(scale, 1 / sqrt(size)), f"a scale of {scale}; 1 / sqrt({size}) has a lowering")
    cache = at.sources.cache(key.past, value.past, prefix)
    attend = Attention(
        at.graph, cache.sequences, cache.tiles, rows, size, group.extent, 1, "interleaved", in_memory=False,
        prefix=prefix, sum=at.tiling.sum,
    )  # fmt: skip
    flat = {name: in_one_loop(at, each, name) for name, each in new.items()}
    sequence = _numbers(at, cache, flat["keys"], "sequence")
    end = sequence.map(CacheEnd(cache.sequences, cache.tiles, rows), cache.length, name=at.name("end"))
    stored = []
    for name, tensor in (("keys", attend.keys), ("values", attend.values)):
        last = end.load_random(tensor, tile=(rows, size), name=at.name(f"last_{name}"))
        longer = last.map(AppendRow(), cache.length, flat[name], name=at.name(f"append_{name}"))
        stored.append(longer.store_random(tensor, end, name=at.name(f"store_{name}")))
    done = stored[0].zip(stored[1], name=at.name("stored"))
    one = at.graph.constant(1, dtype=UINT32, reference=done, name=at.name("one"))
    queries = in_one_loop(at, q, "queries")
    if group.extent > 1:
        queries = queries.reshape(group.extent, name=at.name("groups"))[0].accum(RetileRow(), name=at.name("group"))
    longer = cache.length.map(Add(), one, name=at.name("longer"))
    work = _numbers(at, cache, done, "ready").zip(longer, name=at.name("work"))
    result = attend.attend(work, f"{prefix}read_", queries)[0].item_of(1, name=at.name("attended"))
    stream = result.map(Cast(BF16), name=at.name("attended_rounded"))
    if group.extent > 1:
        stream = stream.flat_map(RetileStreamify(1, "row"), name=at.name("rows"))
    return at.sources.together(replace(q, stream=in_loops(at, stream, q), dtype=BF16))


def _numbers(at: Importer, cache: Cache, along: Stream, name: str) -> Stream:
    """The numbers of the sequences, each as soon as ``along`` has an element for it."""
    now = at.graph.constant(0, dtype=UINT32, reference=along, name=at.name(f"{name}_now"))
    return cache.number.map(Add(), now, name=at.name(name))


def _extent(value: Value, at: int) -> int:
    return value.dims[at][0].extent if value.dims[at] else 1
