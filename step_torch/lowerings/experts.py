"""Routed experts: every row goes to the experts that its own router chose, and their weighted results are added up.

Rows in tiles: experts have hardware of their own, and collect rows to tiles, the last of which is padded. A row by
itself, of a decode step: it goes through the hardware of one expert as often as it has experts, with their weights by
number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from step import BF16, Selector, Stream
from step.functions import (
    Add,
    ArgMax,
    Cast,
    Column,
    ExpertTiles,
    KeepTopK,
    Mul,
    RetileRow,
    RetileStreamify,
    RowMax,
    Scale,
    Sub,
    TopK,
)
from step.language.dims import dim
from step.library import top_k_weights
from step_models import packing, swiglu
from step_torch.importing import Importer
from step_torch.layouts import Dims, Value, dividing
from step_torch.loops import in_loops, in_one_loop
from step_torch.registry import lowers
from step_torch.sources import Stored, Unsupported, supported


@dataclass(frozen=True)
class Chosen:
    """The ``k`` largest of every row of ``of``, and what is done with them until experts take them.

    ``normalised``: they are divided by their sum, which ``is_sum`` is.
    """

    of: Any
    k: int
    normalised: bool = False
    is_sum: bool = False

    @property
    def dims(self) -> Dims:
        """The dimensions of the rows."""
        return self.of.dims

    def total(self) -> Chosen:
        """Their sum."""
        return replace(self, is_sum=True)

    def is_like(self, other: Any) -> bool:
        """Whether ``other`` is of the same, or their sum."""
        same = isinstance(other, Chosen) and other.of is self.of
        return same and (other.k, other.normalised) == (self.k, self.normalised)

    def divided(self, at: Importer, other: Any) -> Chosen:
        """By their sum; anything else has no lowering."""
        if not (self.is_like(other) and other.is_sum and not self.is_sum):
            raise Unsupported("what a router chose can only be divided by its sum")
        return replace(self, normalised=True)

    def cast(self, at: Importer) -> Chosen:
        """In another format: weights of experts are BF16 anyway."""
        return self

    def value(self, at: Importer) -> Value:
        """Only routed experts take what a router chose."""
        raise Unsupported("what a router chose is read by something else than routed experts")


@lowers("aten.topk.default")
def top(
    at: Importer, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Chosen, Chosen]:
    """The largest of every row, and where they are."""
    supported(largest, "the smallest of every row; the largest have a lowering")
    supported(dim % len(x.dims) == len(x.dims) - 1, "the largest along another dimension than the last one")
    chosen = Chosen(at.whole_rows(x, "a router looks at a whole row"), k)
    return chosen, chosen


@lowers("step.experts.default")
def experts(at: Importer, x: Any, index: Any, weight: Any, gate_up: Stored, down: Stored) -> Value:
    """SwiGLU experts, of which every row has its own."""
    routed = isinstance(weight, Chosen) and replace(weight, normalised=False).is_like(index)
    if not routed or weight.is_sum or index.is_sum:
        raise Unsupported("the router is not a softmax with the largest of each row")
    value = at.whole_rows(x, "experts take whole rows")
    if value.layout.rows == at.sources.rows and not value.layout.loops:
        value = at.sources.alone(value)
        summed = _by_turns(at, in_one_loop(at, value, "x"), weight, gate_up, down)
        return at.sources.together(replace(value, stream=in_loops(at, summed, value), dtype=BF16))
    if len(value.layout.loops) > 1 or value.stream.shape[0] != dim(1):
        raise Unsupported("rows of several dimensions, or several that go round; rows of one have a lowering")
    for each in (gate_up, down):
        at.check_format(each)
    graph, count = at.graph, down.data.shape[0]
    tokens = value.layout.tile[0] * (value.layout.loops[0].count if value.layout.loops else 1)
    probabilities, rows = _each(at, index.of, "probabilities"), _each(at, value, "x")
    share = _shares(at, probabilities, weight)
    choice = probabilities.map(TopK(index.k), name=at.name("choice"))
    room = tokens + 1  # an expert may wait for all rows, and Done takes a slot
    parts = rows.buffered(room).partition(choice, targets=count, name=at.name("route"))
    shares = share.buffered(room).partition(choice, targets=count, name=at.name("route_share"))
    done = [
        _expert(at, number, part, own, gate_up.data[number], down.data[number], room)
        for number, (part, own) in enumerate(zip(parts, shares, strict=True))
    ]
    gathered = graph.reassemble(done, choice.buffered(room), order="index", name=at.name("gather"))
    summed = gathered.accum(Add(), name=at.name("sum")).map(Cast(BF16), name=at.name("rounded"))
    return replace(value, stream=_tiles(at, summed.assume_shape([tokens]), value), dtype=BF16)


def _by_turns(at: Importer, row: Stream, weight: Chosen, gate_up: Stored, down: Stored) -> Stream:
    """One row by itself: its experts one after the other, the one with the largest weight first."""
    graph, (count, hidden, inner), k = at.graph, down.data.shape, weight.k
    columns = dividing(inner, at.tiling.columns)
    scores = at.sources.alone(at.whole_rows(weight.of, "a router looks at a whole row"))
    shares = _shares(at, in_one_loop(at, scores, "scores"), weight)
    each = graph.generate(Selector(k), [(1 << k) - 1], reference=row, name=at.name("each"))

    def all_of(parts: list[Stream], name: str) -> Stream:
        gathered = graph.reassemble(parts, each, order="index", name=at.name(name))
        return gathered.assume_shape([*row.shape, k])

    alone, before = list[Stream](), None
    for rank in range(1, k + 1):
        kept = shares.map(KeepTopK(rank), name=at.name(f"first{rank}"))
        alone.append(kept if before is None else kept.map(Sub(), before, name=at.name(f"only{rank}")))
        before = kept
    number = all_of([one.map(ArgMax(), name=at.name("number")) for one in alone], "numbers")
    share = all_of([one.map(RowMax(), name=at.name("share")) for one in alone], "shares")

    number = at.sources.of_layer(number, count)
    halves = number.map(Scale(2), name=at.name("halves"))  # gate and up lie one behind the other
    blocks = inner // columns

    def load(given: Stored, number: Stream, tile: tuple[int, int], name: str, base: int = 0) -> Stream:
        tensor = at.sources.tensor(given)
        parts = tensor.shape[0] * tensor.shape[1] // (tile[0] * tile[1] * blocks)
        address = number.flat_map(ExpertTiles(parts, blocks, base), name=at.name(f"at_{name}"))
        return address.load_random(tensor, tile=tile, name=at.name(f"load_{name}"))

    x = row.repeat(k, name=at.name("x"))
    gate = load(gate_up, halves, (columns, hidden), "gate")
    up = load(gate_up, halves, (columns, hidden), "up", base=blocks)
    weights = gate, up, load(down, number, (hidden, columns), "down")
    y = swiglu.feed_whole_rows(x, weights, transposed=(True, True), prefix=f"{at.name('expert')}_")
    weighted = y.map(Cast(BF16), name=at.name("rounded")).map(Mul(out=BF16), share, name=at.name("weighted"))
    return weighted.accum(Add(), name=at.name("sum")).map(Cast(BF16), name=at.name())


def _shares(at: Importer, probabilities: Stream, weight: Chosen) -> Stream:
    """The weight of each expert, zero for those that a row does not go to."""
    if weight.normalised:
        return top_k_weights(probabilities, weight.k, out=BF16, name=at.name("shares"))
    return at.rounded(probabilities.map(KeepTopK(weight.k), name=at.name("kept")))


def _expert(
    at: Importer, number: int, rows: Stream, share: Stream, gate_up: np.ndarray, down: np.ndarray, room: int
) -> Stream:
    """The weighted results of one expert on its ``rows``."""
    graph, (hidden, inner) = at.graph, down.shape
    prefix = f"{at.name('expert')}{number}_"
    columns = dividing(inner, at.tiling.columns)
    weights = swiglu.Weights.declare(graph, prefix, hidden, inner)
    data = {"gate": gate_up[:inner].T, "up": gate_up[inner:].T, "down": down.T}
    at.inputs.update({f"{prefix}{name}": np.ascontiguousarray(each) for name, each in data.items()})
    size = min(at.tiling.most_rows, room - 1)
    tiles, keep = packing.packed(rows, size, prefix)
    y = swiglu.expert(graph, tiles, weights, depth=hidden, columns=columns, sum=at.tiling.sum, prefix=prefix)
    y = packing.unpacked(y, keep.buffered(room + size), rows, prefix)
    factor = share.assume_shape(y.shape).buffered(room).map(Column(number), name=f"{prefix}share")
    rounded = y.map(Cast(BF16), name=f"{prefix}rounded")
    weighted: Stream = rounded.map(Mul(out=BF16), factor.buffered(room), name=f"{prefix}weighted")
    return weighted.buffered(room)


def _each(at: Importer, value: Value, name: str) -> Stream:
    """The rows of a value one by one: [tokens]."""
    stream = value.stream
    if value.layout.tile[0] > 1:
        stream = stream.flat_map(RetileStreamify(1, "row"), name=at.name(f"{name}_rows"))
    if stream.rank:
        stream = stream.flatten(0, stream.rank, name=at.name(f"{name}_flat"))
    return stream


def _tiles(at: Importer, rows: Stream, like: Value) -> Stream:
    """Rows [tokens] in the tiles and loops of ``like``."""
    size, loops = like.layout.tile[0], like.layout.extents
    if size > 1:
        rows = rows.reshape(size, name=at.name("chunks"))[0].accum(RetileRow(), name=at.name("tiles"))
    for extent in reversed(loops):
        rows = rows.reshape(extent, name=at.name("loop"))[0]
    return rows.assume_shape(like.stream.shape)
