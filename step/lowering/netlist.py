"""The lowered form of a program that the RTL and the timing model share: units joined by channels.

Both back ends number units and channels as they stand here, which is what lets their runs be compared. Lowering gives
every reader a copy of its stream, and says which streams carry values, and which only control: nobody sees the values
of a reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Annotated, Any, TypeVar

from step.errors import FabricError, InputError
from step.host.names import unknown
from step.language.graph import Graph, Node
from step.language.operator import StreamType
from step.language.parameters import Within, settled
from step.language.stream import Stream
from step.language.types import Buffer, ElementType, Tile, is_dynamic
from step.language.validate import check
from step.lowering.fabric import FabricConfig
from step.lowering.links import (
    Gathering,
    Port,
    check_depths,
    deciding,
    link_words,
    needed_ports,
    rows_behind,
    slots_on_the_way,
)
from step.lowering.off_chip import MemoryConfig
from step.ops.broadcast import Broadcast

Found = TypeVar("Found")

DEEPEST = 1 << 40
"""Slots that no run fills."""


@dataclass(frozen=True, eq=False)
class Channel:
    """A FIFO from output ``producer`` to input ``consumer`` (node name and port each).

    ``depth`` is what the program or the fabric asks for; the capacity adds the slots that the producer's latency
    needs, and those for its ``hops``, registers on the way. ``carries``: values have data, else nobody needs it and
    there is only control. ``rows`` are those of a tile of dynamic size for which a slot has room.
    """

    index: int
    name: str
    producer: tuple[str, int]
    consumer: tuple[str, int]
    type: StreamType
    depth: int
    carries: bool
    rows: int
    hops: int = 0

    @property
    def element(self) -> ElementType | None:
        """Type of the values that travel; None: there are headers only."""
        return self.type.element if self.carries else None

    @property
    def is_control(self) -> bool:
        """Whether values travel in the header; no tile of dynamic size does, however few rows it has."""
        return self.element is not None and self.element.is_control


@dataclass(frozen=True, eq=False)
class Netlist:
    """Units and channels of a lowered program, in a fixed order; ``derived``: see `derived`.

    ``deciding``: names of the units whose values decide what some unit does.
    ``most_rows``: of the tiles of dynamic size that begin at an operator, where that is less than the fabric's.
    """

    graph: Graph
    fabric: FabricConfig
    units: tuple[Node, ...]
    channels: tuple[Channel, ...]
    deciding: frozenset[str]
    most_rows: Mapping[str, int] = field(default_factory=dict)
    derived: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def by_producer(self) -> dict[tuple[str, int], Channel]:
        return {channel.producer: channel for channel in self.channels}

    @cached_property
    def by_consumer(self) -> dict[tuple[str, int], Channel]:
        return {channel.consumer: channel for channel in self.channels}

    @cached_property
    def is_fixed(self) -> bool:
        """Whether a run takes the same cycles with all data: all sizes are static, and no value decides anything."""
        types = [each.type for each in self.channels]
        static = all(each.element.is_static and all(dim.is_static for dim in each.shape) for each in types)
        return static and not self.deciding

    def inputs(self, node: Node) -> list[Channel]:
        """Channels in front of ``node``, in the order of its ports."""
        return [self.by_consumer[node.name, port] for port in range(len(node.inputs))]

    def outputs(self, node: Node) -> list[Channel | None]:
        """Channels behind ``node``, in the order of its ports; None where nobody reads."""
        return [self.by_producer.get((node.name, port)) for port in range(len(node.output_types))]

    def owner(self, node: Node) -> Node:
        """The operator whose links ``node`` has: copies those of what is copied, and what reads buffers those of what
        fills them."""
        while node.operator.inserted or node.operator.reads_buffers:
            node = self.graph.nodes[self.by_consumer[node.name, 0].producer[0]]
        return node

    @cached_property
    def links(self) -> Mapping[str, int]:
        """Bytes of a word of all links at a unit, by its name."""
        own, link = self.fabric.links, self.fabric.link_bytes
        return {unit.name: own.get(self.owner(unit).name, link) if own else link for unit in self.units}

    def at(self, node: Node) -> FabricConfig:
        """The fabric as the unit ``node`` has it, with its own lanes, links and stages."""
        fabric = self.fabric
        own = fabric.lanes or fabric.links or fabric.cuts
        return fabric.of(node.name, self.links[node.name]) if own else fabric

    def widths(self, channel: Channel) -> tuple[int, int]:
        """Bytes of the words of ``channel`` as they are written, and as they are read."""
        return self.links[channel.producer[0]], self.links[channel.consumer[0]]

    def words(self, channel: Channel | None, unit: str | None = None) -> int:
        """Cycles that a value takes at the end of ``channel`` where ``unit`` is, or at the slower one.

        Of tiles of dynamic size that with the most rows; None is that behind an output that nobody reads.
        """
        if channel is None or channel.element is None:
            return 1
        link = self.links[unit] if unit else min(self.widths(channel))
        return link_words(channel.element, link, self.fabric.dynamic_rows)

    def places(self, channel: Channel) -> int:
        """Places that a value has in ``channel``: words of the wider end."""
        return link_words(channel.element, max(self.widths(channel)), channel.rows)

    def rows_from(self, node: Node) -> int:
        """The most rows of a tile of dynamic size that begins at ``node``."""
        return self.most_rows.get(node.name, self.fabric.dynamic_rows)

    def least_depth(self, channel: Channel) -> int:
        """The fewest slots of ``channel``: one for values of several words, as the next ones come behind those read."""
        return 1 if self.words(channel) > 1 else 2

    @cached_property
    def tiled(self) -> frozenset[Port]:
        """The outputs that tiles with a dynamic number of rows leave, whose values somebody needs."""
        return frozenset(each.producer for each in self.channels if is_dynamic(each.element))

    def is_deep(self, channel: Channel) -> bool:
        """Whether a header is seen a cycle later, as the words of ``channel`` are in block RAM, or in a buffer."""
        if isinstance(channel.type.element, Buffer):
            return True
        data = channel.element is not None and not channel.is_control
        slots = channel.depth + self.spare(channel)
        return data and slots * self.places(channel) > self.fabric.block_ram_words

    def spare(self, channel: Channel) -> int:
        """Values besides its depth for which ``channel`` has places: that of which narrower words are still read."""
        return int(self.words(channel, channel.consumer[0]) > self.words(channel, channel.producer[0]))

    def slots(self, channel: Channel) -> int:
        """Slots of ``channel``: its depth, and those for its hops."""
        return channel.depth + slots_on_the_way(channel.hops, self.words(channel))

    def lag(self, channel: Channel) -> int:
        """Cycles that tokens are seen in ``channel`` later than others: it has hops, words are in block RAM, or narrow
        ones are gathered to wide ones that are read without a gap. See `gathering` for tiles of dynamic size."""
        written, read = self.widths(channel)
        waits = 0
        if channel.element is not None and written < read and not is_dynamic(channel.element):
            waits = link_words(channel.element, written) - link_words(channel.element, read)
        return channel.hops + self.is_deep(channel) + waits

    def gathering(self, channel: Channel) -> Gathering | None:
        """Wait of a tile of dynamic size that is read in wider words than it is written in."""
        element, (written, read) = channel.element, self.widths(channel)
        if not isinstance(element, Tile) or not is_dynamic(element) or written >= read:
            return None
        return Gathering(element.with_rows(1).bits, 8 * written, 8 * read)

    def with_depths(self, depths: Mapping[str, int]) -> Netlist:
        """The same with other depths of channels, by name; raises `FabricError` for what can not be."""
        places = self._places
        channels = list(self.channels)
        for name, depth in depths.items():
            if name not in places:
                raise FabricError(unknown("channel", name, sorted(places)))
            least = self.least_depth(channels[places[name]])
            if type(depth) is not int or not least <= depth <= DEEPEST:
                slots = Annotated[int, Within(least, DEEPEST)]
                depth = settled(depth, slots, f"the depth of channel {name!r}", FabricError)
            channels[places[name]] = replace(channels[places[name]], depth=depth)
        return replace(self, channels=tuple(channels))

    def with_most_rows(self, most_rows: Mapping[str, int]) -> Netlist:
        """The same with room for fewer rows of the tiles that begin at operators; raises `FabricError` for others."""
        behind = rows_behind(self.graph, most_rows, self.fabric.dynamic_rows)
        channels = tuple(replace(each, rows=behind[each.producer[0]]) for each in self.channels)
        return replace(self, channels=channels, most_rows=dict(most_rows))

    def with_memory(self, memory: MemoryConfig) -> Netlist:
        """The same for a fabric with another memory."""
        return self if memory == self.fabric.memory else replace(self, fabric=replace(self.fabric, memory=memory))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {channel.name: place for place, channel in enumerate(self.channels)}


def derived(derive: Callable[[Netlist], Found]) -> Callable[[Netlist], Found]:
    """``derive``, but once per netlist: what it finds stays with the netlist for whoever asks next."""

    @wraps(derive)
    def found(netlist: Netlist) -> Found:
        name = f"{derive.__module__}.{derive.__qualname__}"
        if name not in netlist.derived:
            netlist.derived[name] = derive(netlist)
        return netlist.derived[name]

    return found


def lower(graph: Graph, fabric: FabricConfig) -> Netlist:
    """Netlist of ``graph`` on ``fabric``: the units, and the channels between them; every reader has a copy of its
    stream.

    ``graph``: the `Graph`, which is checked.
    ``fabric``: the `FabricConfig`.

    Raises the errors of `step.language.validate.check` and `check_depths`, and for hops of no channel `FabricError`.

    >>> [(channel.name, channel.depth) for channel in step.lower(graph, FabricConfig()).channels]
    [('x', 2), ('accum_0', 2)]
    """
    check(settled(graph, Graph, "graph", InputError))
    return lower_checked(graph, settled(fabric, FabricConfig, "fabric", InputError))


def lower_checked(graph: Graph, fabric: FabricConfig) -> Netlist:
    """`lower` for a ``graph`` that was checked."""
    lowered = insert_broadcasts(graph)
    check_depths(graph, fabric)
    order, needed = {node.name: at for at, node in enumerate(lowered)}, needed_ports(lowered)
    ends = [(stream, (node.name, port)) for node in lowered for port, stream in enumerate(node.inputs)]
    ends.sort(key=lambda end: (order[end[0].producer], end[0].key[1]))
    channels = []
    for at, (stream, reader) in enumerate(ends):
        name, depth = lowered.stream_name(*stream.key), stream.depth or fabric.channel_depth
        rows, carries = fabric.dynamic_rows, reader in needed
        hops = fabric.hops.get(name, fabric.hop if stream.hops is None else stream.hops)
        channels.append(Channel(at, name, stream.key, reader, stream.type, depth, carries, rows, hops))
    if absent := sorted(set(fabric.hops) - {each.name for each in channels}):
        raise FabricError(unknown("channel", absent[0], sorted(each.name for each in channels)))
    netlist = Netlist(lowered, fabric, tuple(lowered), tuple(channels), deciding(lowered))
    netlist = netlist.with_depths(graph.depths) if graph.depths else netlist
    return netlist.with_most_rows(graph.most_rows) if graph.most_rows else netlist


def insert_broadcasts(graph: Graph) -> Graph:
    """The same program in which every stream has at most one reader.

    Copies are handed out in the order in which the readers were placed. A reader's channel depth stays with its copy.
    """
    result = Graph(graph.name, tensors=graph.tensors, symbols=graph.symbols, refinements=graph.refinements)
    readers, names = graph.readers(), dict[Port, str]()
    for key, reading in readers.items():
        if len(reading) > 1:
            names[key] = f"{graph.stream_name(*key).replace('.', '_')}_broadcast"
            while names[key] in graph.nodes:
                names[key] += "_"
    for node in graph:
        inputs = []
        for port, stream in enumerate(node.inputs):
            origin = graph.resolve(stream)
            key = origin.key
            if key in names:
                key = names[key], readers[key].index((node, port))
            inputs.append(Stream(result, *key, origin.type, stream.depth, stream.hops))
        result.nodes[node.name] = replace(node, inputs=tuple(inputs))
        for port, output in enumerate(node.output_types):
            if name := names.get((node.name, port)):
                copied, copies = Stream(result, node.name, port, output), len(readers[node.name, port])
                result.nodes[name] = Node(name, Broadcast(copies), (copied,), (output,) * copies, node.location)
    return result
