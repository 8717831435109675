"""The plan of a board: which memory port goes to which AXI4 master, and the images that have an address.

A fabric's memory ports count beats from the base of a region (`step.lowering.memory`). On a board every region is an
*image* somewhere in the address space of the bus, whose byte address comes from outside. Hardware, registers, driver
and fast model read this one plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from step.errors import FabricError
from step.language.tiling import accesses, stored
from step.lowering.bus import BusConfig
from step.lowering.dma import (
    LIST,
    MOST_ELEMENTS,
    MOST_LIMIT,
    MOST_REQUESTS,
    REQUEST,
    VALUES,
    StreamPlan,
    sink_plan,
    sink_requests,
    source_plan,
)
from step.lowering.memory import memory_map
from step.lowering.netlist import Netlist

PORT_BITS = 8
"""Of the number of a port, where an error of memory is told."""


@dataclass(frozen=True)
class Image:
    """A tensor in memory as the fabric has it, tile by tile, at a base address of its own.

    ``name`` is that of its tensor if it may be written, else of the operator that reads or writes it. ``base`` and
    ``beats`` are those of its region, in beats.

    Of a stream it is a part (`step.lowering.dma`), called ``STREAM_values`` or ``STREAM_list``. Its base is 0, and its
    beats are the most that a static shape takes, or 0 where only a run tells. What a sink writes is ``limited``: a
    register says how many bytes there are. So is a store of any number of tiles, whose beats are 0.
    """

    name: str
    base: int
    beats: int
    limited: bool = False


@dataclass(frozen=True)
class BoardPort:
    """A memory port: its ``number`` (reads first, in the order of the units), and the ``master`` that serves it.

    ``image``: the index of what it reads or writes. ``size_beats``: beats of a tile. ``local``: its place among the
    ports of its master that go the same way.
    """

    number: int
    name: str
    writes: bool
    acknowledged: bool
    size_beats: int
    image: int
    master: int
    local: int


@dataclass(frozen=True)
class BoardStream:
    """A source or a sink (``is_source``) that DMA serves: its ``plan``, and the number of its ``unit``.

    ``images``: the index of each of its parts, in the order of `StreamPlan.parts`.
    """

    name: str
    is_source: bool
    unit: int
    plan: StreamPlan
    images: tuple[int, ...]


@dataclass(frozen=True)
class BoardPlan:
    """All of it. ``beat_bytes`` are those of the fabric. Without ``streams`` sources and sinks are at the edge."""

    bus: BusConfig
    beat_bytes: int
    images: tuple[Image, ...]
    ports: tuple[BoardPort, ...]
    streams: tuple[BoardStream, ...] = ()

    def of(self, master: int, *, writes: bool) -> tuple[BoardPort, ...]:
        """The ports of ``master`` that read, or those that write."""
        return tuple(each for each in self.ports if each.master == master and each.writes == writes)

    def bytes_of(self, image: Image) -> int:
        """Bytes of ``image``; 0 where only a run tells."""
        return image.beats * self.beat_bytes


_PortRequest = tuple[str, Image, int, bool]
"""A port: its name, the image behind it, the beats of a tile, and whether it is acknowledged."""


def board_of(netlist: Netlist, bus: BusConfig, *, streams: bool = False) -> BoardPlan:
    """Deal out the memory ports of ``netlist`` to the masters of ``bus``, by turns.

    With ``streams`` DMA serves sources and sinks, with ports for each part behind those of loads and of stores.

    Raises `FabricError` for more masters than ports, too many ports, a bus of whose bursts beats are no part, memory
    that the addresses of the bus do not reach, parts of streams that DMA does not reach, and those with the names of
    operators.
    """
    beat, program = netlist.fabric.memory.beat_bytes, f"program {netlist.graph.name!r}"
    served = tuple(_streams(netlist)) if streams else ()
    reads = [*_tiles(netlist, writes=False), *_parts(netlist, served, sources=True)]
    writes = [*_tiles(netlist, writes=True), *_parts(netlist, served, sources=False)]
    wanted = reads + writes
    if bus.masters > len(wanted):
        there = f"{len(wanted)} memory port{'s' * (len(wanted) != 1)}"
        raise FabricError(f"{bus.masters} masters are too many: {program} has {there}")
    if len(wanted) > 1 << PORT_BITS:
        raise FabricError(f"{program} has {len(wanted)} memory ports, more than the {1 << PORT_BITS} of a board")
    bus.check_beat(beat)
    images, ports = list(dict.fromkeys(image for _, image, *_ in wanted)), list[BoardPort]()
    for number, (name, image, size, acknowledged) in enumerate(wanted):
        place, master, is_write = images.index(image), number % bus.masters, number >= len(reads)
        local = sum((port.master, port.writes) == (master, is_write) for port in ports)
        ports.append(BoardPort(number, name, is_write, acknowledged, size, place, master, local))
    places = [each.name for each in images]
    placed = tuple(
        replace(each, images=tuple(places.index(f"{each.name}_{part}") for part in each.plan.parts)) for each in served
    )
    board = BoardPlan(bus, beat, tuple(images), tuple(ports), placed)
    needed = sum(board.bytes_of(each) for each in board.images)
    if needed > 1 << bus.address_bits:
        raise FabricError(
            f"the tensors of {program} take {needed:,} bytes, more than bus.address_bits = {bus.address_bits} reach"
        )
    return board


def _tiles(netlist: Netlist, *, writes: bool) -> Iterator[_PortRequest]:
    """The ports of loads, or of stores."""
    memory, written = memory_map(netlist), stored(netlist.graph)
    for node, access in accesses(netlist.units, writes=writes):
        region = (memory.stores if writes else memory.loads)[node.name]
        name = (access.tensor if access.tensor in written else None) or node.name
        any_size = writes and access.tiles is None
        image = Image(name, region.base, 0 if any_size else region.beats, any_size)
        yield node.name, image, region.beats_per_tile, writes and access.acknowledged


def _streams(netlist: Netlist) -> Iterator[BoardStream]:
    for unit, node in enumerate(netlist.units):
        if node.operator.given() is not None:
            yield BoardStream(node.name, True, unit, source_plan(netlist, node), ())
        elif node.operator.hands_out:
            yield BoardStream(node.name, False, unit, sink_plan(netlist, node), ())


def _parts(netlist: Netlist, streams: Iterable[BoardStream], *, sources: bool) -> Iterator[_PortRequest]:
    """The ports of the DMA of ``streams``, of sources or of sinks."""
    for stream in streams:
        if stream.is_source != sources:
            continue
        plan, node = stream.plan, netlist.units[stream.unit]
        requests = {VALUES: 0 if plan.listed else plan.requests, LIST: 0}
        if not sources:
            requests = sink_requests(plan, node.input_types[0])
        most = MOST_REQUESTS if sources else MOST_LIMIT // plan.request_bytes
        shape = (node.output_types if sources else node.input_types)[0].shape
        count = math.prod(int(each) for each in shape if each.is_static)
        if VALUES not in plan.parts and count > MOST_ELEMENTS:
            raise FabricError(f"{node.describe()}: it has {count:,} elements, more than the {MOST_ELEMENTS:,} of DMA")
        for part in plan.parts:
            plan.check(node.describe(), part, requests[part], most, FabricError)
            name = f"{stream.name}_{part}"
            if name in netlist.graph.nodes or name in stored(netlist.graph):
                raise FabricError(f"{node.describe()}: {name!r} is the {part} of it in memory; rename the other")
            yield name, Image(name, 0, requests[part] * REQUEST, not sources), REQUEST, False
