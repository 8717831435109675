"""Chunks of several streams that go into one: they must be alike."""

from __future__ import annotations

from collections.abc import Sequence

from step.language.dims import DimKind, Shape
from step.language.operator import Names, StreamType, expect, expect_rank


def expect_equal_chunks(streams: Sequence[StreamType], rank: int) -> None:
    """Raise `TypeMismatch` unless all ``streams`` have ``rank``, and chunks of the same type and shape."""
    first = streams[0]
    expect_rank(rank, 0, first.rank)
    for position, each in enumerate(streams):
        expect(each.rank == rank, f"data streams must have rank {rank}, but input {position} has {each.rank}")
        expect(
            each.element == first.element
            and all(
                one == other or one.is_ragged or other.is_ragged
                for one, other in zip(each.shape[1:], first.shape[1:], strict=True)
            ),
            f"data streams must carry equal chunks, but input 0 is {first} and input {position} is {each}",
        )


def common_chunk(streams: Sequence[StreamType], names: Names) -> Shape:
    """The dimensions of the chunks of all ``streams`` together."""
    rank = streams[0].rank
    return tuple(
        # Ragged: the tensors of all inputs together have another total than those of any one.
        names.symbol(f"D{rank - 1 - position}", DimKind.RAGGED) if any(each.is_ragged for each in dims) else dims[0]
        for position, dims in enumerate(zip(*(each.shape[1:] for each in streams), strict=True))
    )
