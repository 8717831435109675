"""Routed experts: every row goes to the experts that its own router chose, and their weighted results are added up.

Rows in tiles: experts have hardware of their own, and collect rows to tiles, the last of which is padded. A row by
itself, of a decode step: it goes through the hardware of one expert as often as it has experts, with their weights by
number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

from step import BF16, FP32, INT32, Selector, Stream
from step.functions import (
    Add,
    ArgMax,
    Cast,
    Clamp,
    Column,
    ExpertTiles,
    Gelu,
    KeepTopK,
    Matmul,
    Mul,
    Relu,
    RowMax,
    RowSum,
    Scale,
    Silu,
    Sub,
    TopK,
)
from step.functions.dequantize import Bits
from step.language.dims import dim
from step.language.function import MapFunction
from step_models import packing
from step_torch.importing import Importer
from step_torch.layouts import Value
from step_torch.loops import in_loops, in_one_loop
from step_torch.lowerings import shapes
from step_torch.lowerings.elementwise import cast
from step_torch.lowerings.expert_products import Parts, columns_of, in_blocks, in_groups, in_tiles
from step_torch.lowerings.pieces import chosen
from step_torch.lowerings.routers import Chosen, routed
from step_torch.registry import lowers
from step_torch.sources import KEPT, Stored, Unsupported, supported

CLAMPED = "clamped_silu"
"""gate * sigmoid(1.702 gate) * (up + 1), with gate up to 7 and up within -7 to 7, as GPT-OSS has it."""

SQUARED = "relu_squared"
"""relu(gate)^2 * up, or relu(up)^2 where nothing is gated, as Nemotron-H has it."""

ACTIVATIONS: Mapping[str, Callable[..., MapFunction]] = {
    "silu": Silu, "gelu": Gelu, "gelu_tanh": partial(Gelu, approximate="tanh"), "relu": Relu, SQUARED: Relu,
    CLAMPED: Silu,
}  # fmt: skip
"""What experts do with what their gate gives, by the names that the mark has for it."""


@lowers("step.experts.default")
def experts(
    at: Importer, x: Any, index: Any, weight: Any, gate_up: Stored, down: Stored, gate_up_bias: Stored | None = None,
    down_bias: Stored | None = None, activation: str = "silu", transposed: bool = False, interleaved: bool = False,
    gate_up_scales: Stored | None = None, down_scales: Stored | None = None, bits: Bits = 8,
) -> Value:  # fmt: skip
    """Experts, of which every row has its own: `torch.ops.step.experts`."""
    supported(activation in ACTIVATIONS, f"the activation {activation!r}; {', '.join(ACTIVATIONS)} have a lowering")
    value = at.whole_rows(x, "experts take whole rows")
    named = {"gate_up": gate_up, "down": down, "gate_up_bias": gate_up_bias, "down_bias": down_bias}
    given = {name: each for name, each in named.items() if each is not None}
    if gate_up_scales is None or down_scales is None:
        parts, multiply = _parts(given, at, transposed=transposed, interleaved=interleaved), Matmul(sum=at.tiling.sum)
    else:
        given |= {"gate_up_scales": gate_up_scales, "down_scales": down_scales}
        inner = down.data.shape[2] * 8 // bits
        parts = in_tiles(at, _apart(given, at, inner, interleaved=interleaved), bits)
        multiply = Matmul(out=INT32, bits=bits)
    weight = routed(at, index, weight, len(parts["down"].data))
    by_turns, why = value.layout.rows == at.sources.rows and not value.layout.loops, "experts take single rows"
    if not by_turns and (len(value.layout.loops) > 1 or value.stream.shape[0] != dim(1)):
        raise Unsupported("rows of several dimensions, or several that go round; rows of one have a lowering")
    apart = at.sources.alone(value) if by_turns else at.joiner.rows(value, 1, why)
    summed = (_by_turns if by_turns else _at_once)(at, in_one_loop(at, apart, "x"), weight, parts, activation, multiply)
    made = replace(apart, stream=in_loops(at, summed, apart.stream), dtype=BF16)
    return at.sources.together(made) if by_turns else at.joiner.rows(made, value.layout.tile[0], why)


def _parts(given: Mapping[str, Stored], at: Importer, *, transposed: bool, interleaved: bool) -> Parts:
    """What experts multiply by, and add, of the arguments of the mark."""
    for each in given.values():
        at.check_format(each)
    lying = {
        name: shapes.permute(at, each, [0, 2, 1]) if transposed and each.data.ndim == 3 else each
        for name, each in given.items()
    }
    return _apart(lying, at, lying["down"].data.shape[2], interleaved=interleaved)


def _apart(lying: Mapping[str, Stored], at: Importer, inner: int, *, interleaved: bool) -> dict[str, Stored]:
    """Gate and up by themselves, where there are both."""
    outputs = lying["gate_up"].data.shape[1]
    if outputs == inner:
        places = {"up": range(outputs)}
    elif interleaved:
        places = {"gate": range(0, outputs, 2), "up": range(1, outputs, 2)}
    else:
        places = {"gate": range(inner), "up": range(inner, outputs)}
    kinds = [each for each in ("", "_bias", "_scales") if f"gate_up{each}" in lying]
    parts = {name + kind: chosen(at, lying[f"gate_up{kind}"], 1, own) for kind in kinds for name, own in places.items()}
    return parts | {name: each for name, each in lying.items() if name.startswith("down")}


def _at_once(at: Importer, rows: Stream, weight: Chosen, parts: Parts, activation: str, multiply: Matmul) -> Stream:
    """Many rows: each expert is hardware of its own, and takes those that are sent to it."""
    graph, count, why = at.graph, len(parts["down"].data), "experts take single rows"
    filled = weight.filled(at, 0.0)
    scores = in_one_loop(at, at.joiner.rows(weight.selection.of, 1, why), "scores")
    share = in_one_loop(at, at.joiner.rows(filled, 1, why), "share")
    choice = scores.map(TopK(weight.selection.k), name=at.name("choice"))
    room = int(rows.shape[0]) + 1  # an expert may wait for all rows, and Done takes a slot
    taken = rows.buffered(room).partition(choice, targets=count, name=at.name("route"))
    shares = share.buffered(room).partition(choice, targets=count, name=at.name("route_share"))
    given = zip(taken, shares, strict=True)
    done = [_expert(at, number, *each, parts, activation, room, multiply) for number, each in enumerate(given)]
    gathered = graph.reassemble(done, choice.buffered(room), order="index", name=at.name("gather"))
    return gathered.accum(Add(), name=at.name("sum")).map(Cast(BF16), name=at.name("rounded"))


def _by_turns(at: Importer, row: Stream, weight: Chosen, parts: Parts, activation: str, multiply: Matmul) -> Stream:
    """One row by itself: its experts one after the other, the one with the largest weight first."""
    graph, count, k = at.graph, len(parts["down"].data), weight.selection.k
    each = graph.generate(Selector(k), [(1 << k) - 1], reference=row, name=at.name("each"))

    def all_of(of: Iterable[Stream], name: str) -> Stream:
        gathered = graph.reassemble([*of], each, order="index", name=at.name(name))
        return gathered.assume_shape([*row.shape, k])

    numbers, chosen = zip(*_ranked(at, weight), strict=True)
    number, share = all_of(numbers, "numbers"), all_of(chosen, "shares")
    number = at.sources.of_layer(number, parts["down"], count)

    def read(name: str) -> Stream:
        tensor, tile = at.sources.tensor(parts[name]), _tile(at, parts, name)
        tiles = parts[name].data[0].size // (tile[0] * tile[1])
        every = ExpertTiles(tensor.shape[0] * tensor.shape[1] // (tile[0] * tile[1] * tiles), tiles)
        address = number.flat_map(every, name=at.name(f"at_{name}"))
        loaded = address.load_random(tensor, tile=tile, name=at.name(f"load_{name}"))
        return loaded.flatten(0, 1, name=at.name(f"one_{name}")) if name == "down_bias" else loaded

    multiply, x = replace(multiply, transposed=multiply.out is not INT32), row.repeat(k, name=at.name("x"))
    y = _result(x, read, parts, activation, multiply, f"{at.name('expert')}_")
    weighted = y.map(Cast(BF16), name=at.name("rounded")).map(Mul(out=BF16), share, name=at.name("weighted"))
    return weighted.accum(Add(), name=at.name("sum")).map(Cast(BF16), name=at.name())


def _tile(at: Importer, parts: Parts, name: str) -> tuple[int, int]:
    """Rows and columns of the tiles of a part, which has as many of them as other weights: but for `down_bias`."""
    data, down = parts[name].data, parts["down"].data
    if data.ndim == 5:
        return data.shape[3], data.shape[4]
    if name == "down_bias":
        return 1, data.shape[1]
    columns = parts["up_scales"].data.shape[4] if down.ndim == 5 else columns_of(at, down.shape[2])
    if name.endswith("bias"):
        return 1, columns
    hidden = down.shape[1]
    return (hidden, columns) if name == "down" else (columns, hidden)


def _ranked(at: Importer, weight: Chosen) -> Iterator[tuple[Stream, Stream]]:
    """Number and weight of each expert that a row goes to, one after the other."""
    selection, filled = weight.selection, weight.filled(at, 0.0)
    shares, before = _single(at, filled), None
    for rank in range(1, selection.k + 1):
        name = at.name(f"first{rank}")
        if weight.positive:
            first = shares.map(KeepTopK(rank), name=name)
        else:
            mask = cast(at, selection.mask(at, rank), BF16)
            first = _single(at, replace(selection.of, stream=mask, dtype=BF16))
        only = first if before is None else first.map(Sub(), before, name=at.name(f"only{rank}"))
        number = only.map(ArgMax(), name=at.name("number"))
        if weight.positive:
            yield number, only.map(RowMax(), name=at.name("share"))
        else:
            yield number, only.map(Mul(), shares, name=at.name("own")).map(RowSum(out=FP32), name=at.name("share"))
        before = first


def _single(at: Importer, value: Value) -> Stream:
    """The rows of ``value`` one by one, of a step of one text or of several."""
    return in_one_loop(at, at.sources.alone(value), "scores")


def _expert(
    at: Importer, number: int, rows: Stream, share: Stream, parts: Parts, activation: str, room: int, multiply: Matmul
) -> Stream:
    """The weighted results of one expert on its ``rows``."""
    prefix, size = f"{at.name('expert')}{number}_", min(at.tiling.most_rows, room - 1)
    tiles, keep = packing.packed(rows, size, prefix)

    def read(name: str) -> Stream:
        data, tile = parts[name].data[number], _tile(at, parts, name)
        if data.ndim == 2:
            data, tile = np.ascontiguousarray(data.T), tile[::-1]
        data = data.reshape(-1, data.shape[-1])
        kept = KEPT[data.dtype.name]
        at.inputs[f"{prefix}{name}"] = data
        tensor, count = at.graph.tensor(f"{prefix}{name}", data.shape, kept), data.size // (tile[0] * tile[1])
        loaded = at.graph.load(tensor, tile=tile, out=[count], stride=[1], reference=tiles, name=f"{prefix}load_{name}")
        return loaded.flatten(0, 1, name=f"{prefix}one_{name}") if name == "down_bias" else loaded

    y = _result(tiles, read, parts, activation, multiply, prefix)
    y = packing.unpacked(y, keep.buffered(room + size), rows, prefix)
    factor = share.assume_shape(y.shape).buffered(room).map(Column(number), name=f"{prefix}share")
    rounded = y.map(Cast(BF16), name=f"{prefix}rounded")
    weighted: Stream = rounded.map(Mul(out=BF16), factor.buffered(room), name=f"{prefix}weighted")
    return weighted.buffered(room)


def _result(
    x: Stream, read: Callable[[str], Stream], parts: Parts, activation: str, multiply: Matmul, prefix: str
) -> Stream:
    """What an expert makes of ``x``, by the streams that ``read`` gives for its parts: weights block by block."""
    products = in_blocks if multiply.out is not INT32 else partial(in_groups, parts=parts)
    project, total = products(x, read, multiply, prefix)

    def biased(y: Stream, name: str) -> Stream:
        return y.map(Add(), read(f"{name}_bias"), name=f"{prefix}{name}") if f"{name}_bias" in parts else y

    gate = biased(project("gate"), "gate") if "gate" in parts else None
    state = _activated(biased(project("up"), "up"), gate, activation, prefix)
    return biased(total(state), "down")


def _activated(up: Stream, gate: Stream | None, activation: str, prefix: str) -> Stream:
    """The hidden state, in BF16."""
    if activation == CLAMPED and gate is not None:
        one = up.graph.constant(1.0, dtype=FP32, reference=up, name=f"{prefix}one")
        gate = gate.map(Clamp(-inf, 7.0), name=f"{prefix}gate_below").map(Scale(1.702), name=f"{prefix}scaled")
        up = up.map(Clamp(-7.0, 7.0), name=f"{prefix}up_within").map(Add(), one, name=f"{prefix}up_and_one")
    found = (up if gate is None else gate).map(ACTIVATIONS[activation](), name=f"{prefix}activation")
    if activation == SQUARED:
        found = found.map(Mul(), found, name=f"{prefix}squared")
    if gate is None:
        return found.map(Cast(BF16), name=f"{prefix}state")
    if activation == CLAMPED:
        found = found.map(Scale(1 / 1.702), name=f"{prefix}glu")
    return found.map(Mul(out=BF16), up, name=f"{prefix}gated")
