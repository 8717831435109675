"""Routed experts: every row goes to the experts that its own router chose, and their weighted results are added up.

Rows in tiles: experts have hardware of their own, and collect rows to tiles, the last of which is padded. A row by
itself, of a decode step: it goes through the hardware of one expert as often as it has experts, with their weights by
number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from step import BF16, FP32, Graph, Selector, Stream
from step.functions import (
    Add,
    ArgMax,
    Cast,
    Column,
    ExpertTiles,
    Gelu,
    KeepTopK,
    Matmul,
    Max,
    Min,
    Mul,
    Relu,
    RetileRow,
    RetileStreamify,
    RowMax,
    RowSum,
    Scale,
    Silu,
    Sub,
    TopK,
    Where,
)
from step.language.dims import dim
from step.language.function import MapFunction
from step.language.fused import Sum
from step_models import packing
from step_torch.importing import Importer
from step_torch.layouts import TensorAxis, Value, dividing
from step_torch.loops import in_loops, in_one_loop
from step_torch.lowerings.routers import Chosen, routed
from step_torch.registry import lowers
from step_torch.sources import Stored, Unsupported, supported

CLAMPED = "clamped_silu"
"""gate * sigmoid(1.702 gate) * (up + 1), with gate up to 7 and up within -7 to 7, as GPT-OSS has it."""

ACTIVATIONS: Mapping[str, Callable[..., MapFunction]] = {
    "silu": Silu, "gelu": Gelu, "gelu_tanh": partial(Gelu, approximate="tanh"), "relu": Relu, CLAMPED: Silu,
}  # fmt: skip
"""What experts do with what their gate gives, by the names that the mark has for it."""

Parts = Mapping[str, Stored]
"""Gate, up and down of all experts, [count, outputs, inputs] each, and biases [count, outputs], ``gate_bias`` say; no
gate where nothing is gated."""


@lowers("step.experts.default")
def experts(
    at: Importer,
    x: Any,
    index: Any,
    weight: Any,
    gate_up: Stored,
    down: Stored,
    gate_up_bias: Stored | None = None,
    down_bias: Stored | None = None,
    activation: str = "silu",
    transposed: bool = False,
    interleaved: bool = False,
) -> Value:
    """Experts, of which every row has its own: `torch.ops.step.experts`."""
    supported(activation in ACTIVATIONS, f"the activation {activation!r}; {', '.join(ACTIVATIONS)} have a lowering")
    value = at.whole_rows(x, "experts take whole rows")
    named = {"gate_up": gate_up, "down": down, "gate_up_bias": gate_up_bias, "down_bias": down_bias}
    given = {name: each for name, each in named.items() if each is not None}
    for each in given.values():
        at.check_format(each)
    parts = _parts(given, transposed, interleaved)
    weight = routed(at, index, weight, len(parts["down"].data))
    if value.layout.rows == at.sources.rows and not value.layout.loops:
        value = at.sources.alone(value)
        summed = _by_turns(at, in_one_loop(at, value, "x"), weight, parts, activation)
        return at.sources.together(replace(value, stream=in_loops(at, summed, value), dtype=BF16))
    if len(value.layout.loops) > 1 or value.stream.shape[0] != dim(1):
        raise Unsupported("rows of several dimensions, or several that go round; rows of one have a lowering")
    graph, count = at.graph, len(parts["down"].data)
    tokens = value.layout.tile[0] * (value.layout.loops[0].count if value.layout.loops else 1)
    scores, rows = _each(at, weight.selection.of, "scores"), _each(at, value, "x")
    share = _each(at, weight.filled(at, 0.0), "share")
    choice = scores.map(TopK(weight.selection.k), name=at.name("choice"))
    room = tokens + 1  # an expert may wait for all rows, and Done takes a slot
    taken = rows.buffered(room).partition(choice, targets=count, name=at.name("route"))
    shares = share.buffered(room).partition(choice, targets=count, name=at.name("route_share"))
    done = [
        _expert(at, number, part, own, parts, activation, room)
        for number, (part, own) in enumerate(zip(taken, shares, strict=True))
    ]
    gathered = graph.reassemble(done, choice.buffered(room), order="index", name=at.name("gather"))
    summed = gathered.accum(Add(), name=at.name("sum")).map(Cast(BF16), name=at.name("rounded"))
    return replace(value, stream=_tiles(at, summed.assume_shape([tokens]), value), dtype=BF16)


def _parts(given: Parts, transposed: bool, interleaved: bool) -> Parts:
    """What experts multiply by, and add, of the arguments of the mark."""

    def part(name: str, of: Stored, which: slice) -> Stored:
        def form(data: np.ndarray) -> np.ndarray:
            lying = data.swapaxes(1, 2) if transposed and data.ndim == 3 else data
            return np.ascontiguousarray(lying[:, which])

        axes = (TensorAxis(f"{of.name}_{name}_{at}", extent) for at, extent in enumerate(form(of.data).shape))
        return of.formed(name, form, tuple((each,) for each in axes))

    inner = given["down"].data.shape[1 if transposed else 2]
    gated = given["gate_up"].data.shape[2 if transposed else 1] > inner
    halves = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (slice(0, inner), slice(inner, None))
    names = {"gate": halves[0], "up": halves[1]} if gated else {"up": slice(None)}
    return {
        f"{name}{kind}": part(f"{name}{kind}", of, which)
        for kind in ("", "_bias")
        for name, whole, which in [
            *((each, "gate_up", half) for each, half in names.items()),
            ("down", "down", slice(None)),
        ]
        if (of := given.get(f"{whole}{kind}")) is not None
    }


def _by_turns(at: Importer, row: Stream, weight: Chosen, parts: Parts, activation: str) -> Stream:
    """One row by itself: its experts one after the other, the one with the largest weight first."""
    graph, (count, hidden, inner), k = at.graph, parts["down"].data.shape, weight.selection.k
    columns = dividing(inner, at.tiling.most_columns)
    each = graph.generate(Selector(k), [(1 << k) - 1], reference=row, name=at.name("each"))

    def all_of(of: list[Stream], name: str) -> Stream:
        gathered = graph.reassemble(of, each, order="index", name=at.name(name))
        return gathered.assume_shape([*row.shape, k])

    numbers, chosen = zip(*_ranked(at, weight), strict=True)
    number, share = all_of([*numbers], "numbers"), all_of([*chosen], "shares")
    number = at.sources.of_layer(number, count)
    blocks = inner // columns

    def read(name: str) -> Stream:
        tensor, tiles = at.sources.tensor(parts[name]), 1 if name == "down_bias" else blocks
        tile = {"down": (hidden, columns), "down_bias": (1, hidden)}.get(name)
        tile = tile or ((1, columns) if name.endswith("bias") else (columns, hidden))
        address = number.flat_map(
            ExpertTiles(tensor.shape[0] * tensor.shape[1] // (tile[0] * tile[1] * tiles), tiles),
            name=at.name(f"at_{name}"),
        )
        loaded = address.load_random(tensor, tile=tile, name=at.name(f"load_{name}"))
        return loaded.flatten(0, 1, name=at.name(f"one_{name}")) if tiles == 1 and name == "down_bias" else loaded

    x = row.repeat(k, name=at.name("x"))
    y = _result(graph, x, read, parts, activation, at.tiling.sum, f"{at.name('expert')}_", transposed=True)
    weighted = y.map(Cast(BF16), name=at.name("rounded")).map(Mul(out=BF16), share, name=at.name("weighted"))
    return weighted.accum(Add(), name=at.name("sum")).map(Cast(BF16), name=at.name())


def _ranked(at: Importer, weight: Chosen) -> Iterator[tuple[Stream, Stream]]:
    """Number and weight of each expert that a row goes to, one after the other."""
    selection, filled = weight.selection, weight.filled(at, 0.0)
    shares, before = at.rounded(_single(at, filled)), None
    for rank in range(1, selection.k + 1):
        name = at.name(f"first{rank}")
        if weight.positive:
            first = shares.map(KeepTopK(rank), name=name)
        else:
            truth = (
                at.graph.constant(each, dtype=BF16, reference=selection.of.stream, name=at.name("truth"))
                for each in (1.0, 0.0)
            )
            mask = selection.mask(at, rank).map(Where(), *truth, name=name)
            first = _single(at, replace(selection.of, stream=mask, dtype=BF16))
        only = first if before is None else first.map(Sub(), before, name=at.name(f"only{rank}"))
        number = only.map(ArgMax(), name=at.name("number"))
        if weight.positive:
            yield number, only.map(RowMax(), name=at.name("share"))
        else:
            yield number, only.map(Mul(), shares, name=at.name("own")).map(RowSum(out=BF16), name=at.name("share"))
        before = first


def _single(at: Importer, value: Value) -> Stream:
    """The rows of ``value`` one by one, of a step of one text or of several."""
    return in_one_loop(at, at.sources.alone(value), "scores")


def _expert(at: Importer, number: int, rows: Stream, share: Stream, parts: Parts, activation: str, room: int) -> Stream:
    """The weighted results of one expert on its ``rows``."""
    graph, (_, hidden, inner) = at.graph, parts["down"].data.shape
    prefix = f"{at.name('expert')}{number}_"
    columns = dividing(inner, at.tiling.most_columns)
    size = min(at.tiling.most_rows, room - 1)
    tiles, keep = packing.packed(rows, size, prefix)

    def read(name: str) -> Stream:
        data = np.ascontiguousarray(np.atleast_2d(parts[name].data[number].T))
        at.inputs[f"{prefix}{name}"] = data
        tile = {"down": (columns, hidden), "down_bias": (1, hidden)}.get(name, (len(data), columns))
        tensor, count = graph.tensor(f"{prefix}{name}", data.shape, BF16), data.size // (tile[0] * tile[1])
        loaded = graph.load(tensor, tile=tile, out=(count,), stride=(1,), reference=tiles, name=f"{prefix}load_{name}")
        return loaded.flatten(0, 1, name=f"{prefix}one_{name}") if name == "down_bias" else loaded

    y = _result(graph, tiles, read, parts, activation, at.tiling.sum, prefix, transposed=False)
    y = packing.unpacked(y, keep.buffered(room + size), rows, prefix)
    factor = share.assume_shape(y.shape).buffered(room).map(Column(number), name=f"{prefix}share")
    rounded = y.map(Cast(BF16), name=f"{prefix}rounded")
    weighted: Stream = rounded.map(Mul(out=BF16), factor.buffered(room), name=f"{prefix}weighted")
    return weighted.buffered(room)


def _result(
    graph: Graph,
    x: Stream,
    read: Callable[[str], Stream],
    parts: Parts,
    activation: str,
    sum: Sum,
    prefix: str,
    *,
    transposed: bool,
) -> Stream:
    """What an expert makes of ``x``, by the streams that ``read`` gives for its parts: weights block by block.

    ``transposed``: tiles of weights are [outputs, inputs].
    """
    multiply, down = Matmul(transposed, sum=sum), read("down")
    repeated = x.repeat(int(down.shape[-1]), name=f"{prefix}x_repeated")

    def biased(y: Stream, name: str) -> Stream:
        return y.map(Add(), read(f"{name}_bias"), name=f"{prefix}{name}") if f"{name}_bias" in parts else y

    projected = {
        name: biased(repeated.map(multiply, read(name), name=f"{prefix}{name}_projection"), name)
        for name in ("gate", "up")
        if name in parts
    }
    state = _activated(graph, projected["up"], projected.get("gate"), activation, prefix)
    return biased(state.accum(multiply, down, name=f"{prefix}y"), "down")


def _activated(graph: Graph, up: Stream, gate: Stream | None, activation: str, prefix: str) -> Stream:
    """The hidden state, in BF16."""
    function, name = ACTIVATIONS[activation](), f"{prefix}activation"
    if gate is None:
        return up.map(function, name=name).map(Cast(BF16), name=f"{prefix}state")
    if activation != CLAMPED:
        return gate.map(function, name=name).map(Mul(out=BF16), up, name=f"{prefix}gated")
    most, least, one = (
        graph.constant(each, dtype=FP32, reference=up, name=f"{prefix}{each_name}")
        for each, each_name in ((7.0, "most"), (-7.0, "least"), (1.0, "one"))
    )
    scaled = gate.map(Min(), most, name=f"{prefix}gate_below").map(Scale(1.702), name=f"{prefix}scaled")
    glu = scaled.map(function, name=name).map(Scale(1 / 1.702), name=f"{prefix}glu")
    within = up.map(Min(), most, name=f"{prefix}up_below").map(Max(), least, name=f"{prefix}up_within")
    return within.map(Add(), one, name=f"{prefix}up_and_one").map(Mul(out=BF16), glu, name=f"{prefix}gated")


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
