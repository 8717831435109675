"""The plan of stream DMA: how the streams of a program lie in memory, which hardware, driver and docs read.

A stream is *values*, one after the other, and where dimensions are not static a *list* of 32-bit words. Each value
starts on a beat, or on a word of its link where that is wider; its words follow one another. The list begins with how
many requests (`REQUEST` beats each) it takes itself, and how many the values take. The lengths follow in the order in
which the stream is read: that of a dimension that is not static whenever one begins, so outer ones before those
inside; that of a tile of a dynamic number of rows right before the tile. Both end on a whole request.

The list of a sink has the lengths of all dimensions, each where it ends, rows behind their tile: read backwards it is
that of a source. It begins in the second request; the first one, which is written last, has how many lengths there
are, at least one, and how many values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from step.errors import StepError
from step.language.graph import Node
from step.language.operator import StreamType
from step.language.types import is_dynamic, with_rows
from step.lowering.bus import LEAST_AHEAD as LEAST_AHEAD
from step.lowering.bus import REQUEST as REQUEST
from step.lowering.limits import power_of_two
from step.lowering.links import item_bits, words
from step.lowering.netlist import Channel, Netlist
from step.lowering.plans.rows import word_bits

LENGTH_BYTES = 4
"""Of a word of a list."""

MOST_REQUESTS = (1 << 28) - 1
"""Of a part: DMA counts beats with 32 bits."""

MOST_LIMIT = (1 << 32) - 1
"""Bytes of a part that a sink writes: a register says how many there are."""

MOST_ELEMENTS = (1 << 32) - 2
"""Of a stream, and of a list in it: lengths have 32 bits, and drivers have one for a length that lists tell."""

VALUES, LIST = "values", "list"
"""The parts of a stream."""


@dataclass(frozen=True)
class StreamPlan:
    """A stream in memory.

    ``extents``: of its dimensions, outermost first, None where a list says them. ``rows``: tiles have a dynamic number
    of rows. ``word_bytes``: that a word takes, a power of two; 0 where values have no data. ``words``: of a value, the
    most where rows are dynamic.
    """

    name: str
    extents: tuple[int | None, ...]
    rows: bool
    word_bytes: int
    words: int
    beat_bytes: int

    @property
    def listed(self) -> bool:
        """Whether there is a list."""
        return self.rows or None in self.extents

    @property
    def parts(self) -> tuple[str, ...]:
        """The regions that there are: `VALUES`, if they have data, and the `LIST`, if there is one."""
        return (VALUES,) * bool(self.word_bytes) + (LIST,) * self.listed

    @property
    def unit_bytes(self) -> int:
        """Bytes that a value is a multiple of."""
        return max(self.beat_bytes, self.word_bytes)

    @property
    def request_bytes(self) -> int:
        """Bytes that values, and a list, are a multiple of."""
        return REQUEST * self.beat_bytes

    @property
    def requests(self) -> int:
        """Requests of the values of a stream without a list."""
        return self.requests_of(math.prod(each or 0 for each in self.extents))

    def requests_of(self, count: int) -> int:
        """Requests of so many values, with the most rows."""
        size = -(-self.words * self.word_bytes // self.unit_bytes) * self.unit_bytes
        return -(-size * count // self.request_bytes)

    def check(self, what: str, part: str, requests: int, most: int, error: type[StepError]) -> None:
        """Raise ``error`` unless a ``part`` of the stream, which is ``what``, takes at most so many requests."""
        if requests > most:
            size, room = (each * self.request_bytes for each in (requests, most))
            raise error(f"{what}: its {part} take {size:,} bytes of memory, more than the {room:,} that DMA reaches")


def source_plan(netlist: Netlist, node: Node) -> StreamPlan:
    """The plan of the stream that ``node``, a source of ``netlist``, takes."""
    given = node.operator.given()
    assert given is not None
    extents = tuple(int(dim) if dim.is_static else None for dim in given.shape)
    return _plan(netlist, node, extents, netlist.outputs(node)[0])


def sink_plan(netlist: Netlist, node: Node) -> StreamPlan:
    """The plan of the stream that ``node``, a sink of ``netlist``, gives; its list has all dimensions."""
    (channel,) = netlist.inputs(node)
    return _plan(netlist, node, (None,) * (channel.type.rank + 1), channel)


def sink_requests(plan: StreamPlan, stream: StreamType) -> dict[str, int]:
    """The most that each part of what a sink gives takes; 0 where only a run tells the shape of the ``stream``."""
    if not all(each.is_static for each in stream.shape):
        return {VALUES: 0, LIST: 0}
    entries = [math.prod(map(int, stream.shape[:at])) for at in range(len(stream.shape) + 1)]
    lengths = sum(entries if plan.rows else entries[:-1]) * LENGTH_BYTES
    return {VALUES: plan.requests_of(entries[-1]), LIST: 1 - (-lengths // plan.request_bytes)}


def _plan(netlist: Netlist, node: Node, extents: tuple[int | None, ...], channel: Channel | None) -> StreamPlan:
    element, fabric, beat = None if channel is None else channel.element, netlist.at(node), netlist.fabric.memory
    if element is None:
        return StreamPlan(node.name, extents, False, 0, 0, beat.beat_bytes)
    items = item_bits(with_rows(element, fabric.dynamic_rows))
    bits = sum(items) if element.is_control else word_bits(items, 8 * fabric.link_bytes)
    count = 1 if element.is_control else sum(words(items, 8 * fabric.link_bytes))
    return StreamPlan(node.name, extents, is_dynamic(element), power_of_two(-(-bits // 8)), count, beat.beat_bytes)
