"""The loops of a value as one, and back: what routes single tiles takes them without loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from step import Selector, Stream
from step.functions import RetileCol, RetileStreamify
from step.language.dims import Dim
from step_torch.layouts import Value

if TYPE_CHECKING:
    from step_torch.importing import Importer


def in_one_loop(at: Importer, value: Value, name: str) -> Stream:
    """All tiles of all rounds in one loop."""
    loops = len(value.layout.loops)
    return value.stream.flatten(0, loops, name=at.name(f"{name}_flat")) if loops else value.stream


def in_loops(at: Importer, stream: Stream, like: Stream) -> Stream:
    """The loops of ``like`` out of one."""
    return looped(at, stream, like.shape[0], [int(each) for each in like.shape[1:]])


def filtered(at: Importer, value: Value, wanted: np.ndarray) -> Stream:
    """The tiles of ``value`` that are ``wanted``, of those in all loops, in one loop."""
    flat = in_one_loop(at, value, "all")
    which = at.graph.generate(Selector(1), wanted.ravel().astype(int).tolist(), reference=flat, name=at.name("which"))
    return flat.partition(which, targets=1, name=at.name("kept"))[0]


def taken_apart(at: Importer, stream: Stream, units: int, name: str) -> tuple[Stream, ...]:
    """The tiles that each of so many ``units`` takes, by turns, in one loop."""
    if units == 1:
        return (stream,)
    turns = at.graph.turns(units, reference=stream, name=at.name(f"{name}_turns"))
    return stream.partition(turns, targets=units, name=at.name(name))


def in_turns(at: Importer, parts: Sequence[Stream]) -> Stream:
    """Tiles of all ``parts``, each in one loop, by turns, in one loop."""
    if len(parts) == 1:
        return parts[0]
    turns = at.graph.turns(len(parts), [range(len(parts))], reference=parts[0], name=at.name("in_order"))
    gathered = at.graph.reassemble(parts, turns, order="index", name=at.name("gathered"))
    gathered = gathered.assume_shape([*parts[0].shape, len(parts)])
    return gathered.flatten(0, 1, name=at.name("all"))


def looped(at: Importer, stream: Stream, rounds: Dim, extents: Sequence[int]) -> Stream:
    """``rounds`` of loops of these ``extents`` out of one loop."""
    if extents:
        stream = stream.assume_shape([rounds * prod(extents)])
        for place in range(len(extents)):  # from the outside, where extents may be dynamic
            stream = stream.reshape(prod(extents[place:]), name=at.name("loop"))[0]
    return stream.assume_shape([rounds, *extents])


def side_by_side(at: Importer, value: Value) -> Stream:
    """One tile a round: those of all loops of ``value`` side by side."""
    loops = len(value.layout.loops)
    return value.stream.accum(RetileCol(), rank=loops, name=at.name("side_by_side")) if loops else value.stream


def apart(at: Importer, like: Value, stream: Stream) -> Value:
    """``like`` with the tiles of ``stream``, which has those of all its loops side by side."""
    if like.layout.loops:
        pieces = RetileStreamify(like.layout.tile[1], "col", rank=1)
        stream = stream.flat_map(pieces, name=at.name("apart"))
        for rank, extent in enumerate(reversed(like.layout.extents[1:])):
            stream = stream.reshape(extent, rank=rank, name=at.name("loop"))[0]
    return replace(like, stream=stream)
