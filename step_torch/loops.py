"""The loops of a value as one, and back: what routes single tiles takes them without loops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from step import Stream
from step.language.dims import Dim
from step_torch.layouts import Value

if TYPE_CHECKING:
    from step_torch.importing import Importer


def in_one_loop(at: Importer, value: Value, name: str) -> Stream:
    """All tiles of all rounds in one loop."""
    loops = len(value.layout.loops)
    return value.stream.flatten(0, loops, name=at.name(f"{name}_flat")) if loops else value.stream


def in_loops(at: Importer, stream: Stream, like: Value) -> Stream:
    """The loops of ``like`` out of one."""
    return looped(at, stream, like.stream.shape[0], [int(each) for each in like.stream.shape[1:]])


def looped(at: Importer, stream: Stream, rounds: Dim, extents: Sequence[int]) -> Stream:
    """``rounds`` of loops of these ``extents`` out of one loop."""
    if extents:
        stream = stream.assume_shape([rounds * prod(extents)])
        for rank, extent in enumerate(reversed(extents)):
            stream = stream.reshape(extent, rank=rank, name=at.name("loop"))[0]
    return stream.assume_shape([rounds, *extents])
