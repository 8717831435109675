"""Work for whoever is free: chunks of a stream are handed to several regions that do the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from step.errors import ProgramError
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
    assert isinstance(graph, Graph)
    place = f"parallelize {name!r} ({graph.here})"
    if regions < 1:
        raise ProgramError(f"{place}: regions must be an integer >= 1, not {regions!r}")
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
    work = _FreeRegions(graph, regions, name)
    which = work.assigned(chunks, () if chunks is not None else (int(count),), data)
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
    if order == "arrival":
        result, free = work.merged(results, data)
        free = work.ended(ends) if ends else free
    else:
        result, free = work.restored(results, which, data), work.ended(ends or results)
    work.close(free, data)
    return result


class _FreeRegions:
    """The loop: a region that has done its work is the next one that gets some.

    The offers are every region once, and then each as often as it has done work, which is as often as there are chunks;
    so as many offers as there are regions are too many at the end, and are dropped.
    """

    def __init__(self, graph: Graph, regions: int, name: str) -> None:
        self.graph, self.regions, self.name = graph, regions, name

    def assigned(self, chunks: Stream | None, dims: Sequence[int], data: Stream) -> Stream:
        """For each chunk of ``data`` the region that gets it; there are ``dims``, or as many as elements in
        ``chunks``."""
        graph, regions, name = self.graph, self.regions, self.name
        self.free = graph.feedback(Selector(regions), data.shape[:1], name=f"{name}_free")
        first = graph.turns(regions, name=f"{name}_first")
        new, again = 1, 2
        enter = graph.generate(
            Selector(2), [again], dims, before=[new] * regions, reference=chunks, name=f"{name}_enter"
        )
        # Everybody who is free has a place in the loop, so that a result never waits for that.
        free = self.free.stream.buffered(max(2, regions))
        offers = graph.reassemble([first, free], enter, order="index", name=f"{name}_loop")
        use, drop = 1, 0
        needed = graph.generate(
            Selector(1), [use], dims, behind=[drop] * regions, reference=chunks, name=f"{name}_needed"
        )
        offers = offers.flatten(0, 1, name=f"{name}_offers").assume_shape(needed.shape)
        (which,) = offers.partition(needed, targets=1, name=f"{name}_which")
        return which.assume_shape(data.shape[:1])

    def merged(self, results: Sequence[Stream], data: Stream) -> tuple[Stream, Stream]:
        """The ``results`` as they come, and for each of them its region."""
        merged, region = self.graph.eager_merge(results, rank=results[0].rank, name=f"{self.name}_merge")
        return merged.assume_shape([data.shape[0], *merged.shape[1:]]), region

    def restored(self, results: Sequence[Stream], which: Stream, data: Stream) -> Stream:
        """The ``results`` in the order of the ``data``."""
        rank = results[0].rank
        again = self.graph.reassemble(
            results, which.buffered(self.regions + 2), rank=rank, order="index", name=f"{self.name}_restored"
        )
        flat = again.flatten(rank, rank + 1, name=f"{self.name}_results")
        return flat.assume_shape([data.shape[0], *flat.shape[1:]])

    def ended(self, streams: Sequence[Stream]) -> Stream:
        """For each chunk of the ``streams`` its region, when it is over."""
        _, region = self.graph.eager_merge([self._ends(each) for each in streams], name=f"{self.name}_done")
        return region

    def close(self, free: Stream, data: Stream) -> None:
        """Hand out work to the regions ``free``."""
        self.free.close(free.assume_shape(data.shape[:1]))

    def _ends(self, result: Stream) -> Stream:
        """An element for each chunk of ``result``, when it is over; nobody asks which."""
        if result.rank == 0:
            return result
        ones: Stream = self.graph.constant(1.0, dtype=FP32, reference=result)
        return ones.accum(Add(), rank=result.rank)
