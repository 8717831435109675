"""Reassemble: in place of every selector, a list of the next chunk of every input that it names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from meaning.given import Given
from meaning.nested import Nested, inside
from step.ops.reassemble import Reassemble


def tokens_in(chunk: Any, rank: int) -> int:
    """How many tokens a chunk is on the wire: its elements, and its tensors without elements."""
    return 1 if rank == 0 or not chunk else sum(tokens_in(each, rank - 1) for each in chunk)


def meaning(operator: Reassemble, given: Given, *streams: Nested) -> list[Nested]:
    *rest, selectors = streams
    data = [iter(each) for each in rest]
    arrivals = None if operator.order == "index" or given.arrivals is None else iter(given.arrivals)

    def arrived(chosen: set[int]) -> Iterator[Any]:
        """The chunks of ``chosen`` in the order of the run that is followed; each is taken as a whole."""
        while chosen:
            port = next(arrivals)
            chosen.remove(port)
            chunk = next(data[port])
            assert all(next(arrivals) == port for _ in range(tokens_in(chunk, operator.rank) - 1)), "interleaved"
            yield chunk

    def gather(mask: int) -> Nested:
        chosen = [port for port in range(len(data)) if mask >> port & 1]
        return [next(data[port]) for port in chosen] if arrivals is None else list(arrived(set(chosen)))

    result = inside(given.input_types[-1].rank + 1, gather, selectors)
    assert not any(list(each) for each in data), "data is left over"
    return [result]
