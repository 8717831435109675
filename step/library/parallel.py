"""Work for whoever is free: chunks of a stream are handed to several regions that do the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from step.errors import ProgramError, expect
from step.functions.elementwise import Add
from step.language.arguments import checked
from step.language.dtypes import FP32
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.types import Selector

Order = Literal["arrival", "input"]


@checked
def parallelize(
    data: Stream,
    body: Callable[[Stream], Stream | tuple[Stream, Stream]],
    *,
    regions: int,
    rank: int = 0,
    order: Order = "arrival",
    chunks: Stream | None = None,
    name: str = "parallel",
) -> Stream:
    """Hand the chunks of ``data``, ``[B, *chunk]``, to whichever of ``regions`` copies of ``body`` is free.

    ``body`` makes of a stream of chunks of ``rank`` a stream with one chunk, of any rank, for each; it must not wait
    for the next chunk before it lets a result go. The first chunks go to the regions by turns, and each later one to
    the region that has been free for the longest time: that began to give a result, for ``order="input"`` gave all of
    it. The results come in order of arrival, or for ``order="input"`` in that of the data; then a region can be ahead
    of a slower one by what the channels behind it hold.

    A region that can begin a chunk before it gives the result of the last one says when: then ``body`` makes two
    streams, the second one with a chunk, of any rank, for each as well, and is free at the end of that.

    There may be fewer chunks than regions, or none. If B is no number, ``chunks`` tells when there is one more: a
    stream ``[B]`` that has an element by the time a chunk begins. Chunks of rank 0 need none.

    Raises `ProgramError` for what can not be handed out.
    """
    graph = data.graph
    place = f"parallelize {name!r} ({graph.here})"
    expect(regions >= 1, f"{place}: regions must be an integer >= 1, not {regions!r}", ProgramError)
    if data.rank != rank:
        raise ProgramError(
            f"{place}: chunks of rank {rank} are handed out of a stream of rank {rank}, but {data} is {data.type}"
        )
    count = data.shape[0]
    if chunks is not None and chunks.shape != (count,):
        raise ProgramError(f"{place}: chunks must be a stream of shape [{count}], but {chunks} is {chunks.type}")
    if chunks is None and not count.is_static:
        if rank > 0:
            raise ProgramError(
                f"{place}: {count} is not known when a chunk of {data} begins; "
                f"give chunks=, a stream of shape [{count}] with an element for each of them"
            )
        chunks = data
    free = graph.feedback(Selector(regions), data.shape[:1], name=f"{name}_free")
    dims = () if chunks is not None else (int(count),)
    which = _assigned(graph, free.stream, chunks, dims, name).assume_shape(data.shape[:1])
    parts = data.partition(which, targets=regions, rank=rank, name=f"{name}_parts")
    made = [body(each) for each in parts]
    streams = [each if isinstance(each, tuple) else (each,) for each in made]
    for each, all_of_it in zip(made, streams, strict=True):
        if len(all_of_it) not in (1, 2) or not all(isinstance(stream, Stream) for stream in all_of_it):
            raise ProgramError(f"{place}: the body must make a stream, or two, not {each!r}")
    for number, part in enumerate(parts):
        for each in streams[number]:
            if each.shape[0] != part.shape[0]:
                raise ProgramError(
                    f"{place}: the body must give one chunk for each that it gets, "
                    f"but in region {number} it makes {each.type} of {part.type}"
                )
    results, ends = [each[0] for each in streams], [each[1] for each in streams if len(each) == 2]
    rank = results[0].rank
    if order == "arrival":
        result, region = graph.eager_merge(results, rank=rank, name=f"{name}_merge")
    else:
        waiting = which.buffered(regions + 2)
        again = graph.reassemble(results, waiting, rank=rank, order="index", name=f"{name}_restored")
        result, ends = again.flatten(rank, rank + 1, name=f"{name}_results"), ends or results
    result = result.assume_shape([count, *result.shape[1:]])
    if ends:
        _, region = graph.eager_merge([_ends(graph, each) for each in ends], name=f"{name}_done")
    free.close(region.assume_shape(data.shape[:1]))
    return result


def _assigned(graph: Graph, free: Stream, chunks: Stream | None, dims: Sequence[int], name: str) -> Stream:
    """For each chunk the region that gets it, of those that are ``free``; there are ``dims``, or as many as elements in
    ``chunks``.

    The offers are every region once, and then each as often as it has done work, which is as often as there are chunks;
    so as many offers as there are regions are too many at the end, and are dropped.
    """
    assert isinstance(free.element, Selector)
    regions = free.element.targets
    first = graph.turns(regions, name=f"{name}_first")
    new, again = 1, 2
    enter = graph.generate(Selector(2), [again], dims, before=[new] * regions, reference=chunks, name=f"{name}_enter")
    # Everybody who is free has a place in the loop, so that a result never waits for that.
    free = free.buffered(max(2, regions))
    offers = graph.reassemble([first, free], enter, order="index", name=f"{name}_loop")
    use, drop = 1, 0
    needed = graph.generate(Selector(1), [use], dims, behind=[drop] * regions, reference=chunks, name=f"{name}_needed")
    offers = offers.flatten(0, 1, name=f"{name}_offers").assume_shape(needed.shape)
    return offers.partition(needed, targets=1, name=f"{name}_which")[0]


def _ends(graph: Graph, result: Stream) -> Stream:
    """An element for each chunk of ``result``, when it is over; nobody asks which."""
    if result.rank == 0:
        return result
    return graph.constant(1.0, dtype=FP32, reference=result).accum(Add(), rank=result.rank)
