"""EagerMerge: the chunks of all inputs in the order of arrival, each with the input that it is from."""

from __future__ import annotations

from meaning.given import Given
from meaning.nested import Nested
from meaning.reassemble import tokens_in
from step.ops.eager_merge import EagerMerge


def meaning(operator: EagerMerge, given: Given, *streams: Nested) -> list[Nested]:
    if given.arrivals is None:
        order = [port for port, stream in enumerate(streams) for _ in stream]
        return [[chunk for stream in streams for chunk in stream], [1 << port for port in order]]
    data, arrivals = [iter(each) for each in streams], iter(given.arrivals)
    merged, selectors = [], []
    for port in arrivals:
        merged.append(next(data[port]))
        selectors.append(1 << port)
        assert all(next(arrivals) == port for _ in range(tokens_in(merged[-1], operator.rank) - 1)), "interleaved"
    assert not any(list(each) for each in data), "chunks are left over"
    return [merged, selectors]
