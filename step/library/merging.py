"""Parts of a stream by selectors: those that are kept, and all together again."""

from __future__ import annotations

from collections.abc import Sequence

from step.language.graph import Graph, graph_method
from step.language.stream import Stream, stream_method


@stream_method
def keep(stream: Stream, selector: Stream, *, name: str | None = None) -> Stream:
    """``[.., n]`` -> ``[.., m]``: the elements for which the ``selector`` [.., n], of one target, selects it.

    So a row is shorter, or empty; ``partition`` alone forgets what rows there were.
    """
    (kept,) = stream.partition(selector, targets=1, name=name if stream.rank == 0 else None)
    if stream.rank == 0:
        return kept
    return stream.graph.reassemble([kept], selector, order="index").flatten(0, 1, name=name)


@graph_method
def merge(
    graph: Graph,
    parts: Sequence[Stream],
    selector: Stream,
    *,
    rank: int = 0,
    room: int | None = None,
    name: str | None = None,
) -> Stream:
    """The opposite of ``partition`` for a ``selector`` [.., n] that names one target each: chunks in their order.

    ``parts`` are streams [n_i, *chunk] of chunks of ``rank``; the result is [.., n, *chunk], which every run checks.
    ``room``: slots of the channels of all parts and of the selectors, where some wait for others.
    """
    if room is not None:
        parts, selector = [each.buffered(room) for each in parts], selector.buffered(room)
    gathered = graph.reassemble(parts, selector, rank=rank, order="index")
    flat: Stream = gathered.flatten(rank, rank + 1, name=name)
    return flat.assume_shape([*selector.shape, *flat.shape[len(selector.shape) :]])
