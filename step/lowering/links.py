"""Values on links: who needs them, the words that they take, the width of these, and the room that there may be.

A tile is as many words of the link as its bits need, a tuple the words of its items one after the other, so that each
item starts a word. Selectors and addresses, on which operators decide, travel with the header of their token and take
no words. Values travel where somebody needs them: that is a backward slice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from step.errors import FabricError
from step.host.nearest import did_you_mean
from step.language.graph import Graph, Node
from step.language.parameters import Count, settled
from step.language.tiling import accesses
from step.language.types import ElementType, has_rows, leaves, with_rows
from step.lowering.fabric import FabricConfig
from step.lowering.limits import MOST_BITS
from step.lowering.plans.rows import largest, parts

Port = tuple[str, int]
"""Name of a node, and number of one of its inputs or outputs."""


def item_bits(element: ElementType) -> tuple[int, ...]:
    """Bits of what ``element`` is made of: of the items of a tuple, in order, else its own."""
    return tuple(each.bits for each in leaves(element) if each.bits)


def words(items: tuple[int, ...], link_bits: int) -> tuple[int, ...]:
    """Words that each of ``items`` takes."""
    return tuple(-(-bits // link_bits) for bits in items)


@dataclass(frozen=True)
class Span:
    """Words on a link of ``link_bits``: ``fixed`` ones, and those of tiles of dynamic size with ``rows`` bits a row."""

    fixed: int = 0
    rows: tuple[int, ...] = ()
    link_bits: int = 0

    @classmethod
    def of(cls, elements: Iterable[ElementType], link_bytes: int) -> Span:
        """Words of ``elements`` one after the other."""
        tiles = [tile for element in elements for tile in leaves(element)]
        fixed = sum(sum(words(item_bits(each), 8 * link_bytes)) for each in tiles if not has_rows(each))
        rows = (with_rows(each, 1).bits for each in tiles if has_rows(each))
        return cls(fixed, tuple(rows), 8 * link_bytes)

    def __add__(self, other: Span) -> Span:
        return Span(self.fixed + other.fixed, self.rows + other.rows, self.link_bits or other.link_bits)

    def is_within(self, other: Span) -> bool:
        """Whether ``other`` has as many or more, with any rows."""
        return self.fixed <= other.fixed and not Counter(self.rows) - Counter(other.rows)

    def at(self, rows: Any) -> Any:
        """Number of words with so many ``rows``: a number, or hardware."""
        found = [parts(rows, each, self.link_bits) for each in self.rows]
        return sum(found[1:], found[0] + self.fixed if self.fixed else found[0]) if found else self.fixed

    def comes(self, rows: Any) -> Any:
        """Cycles from a firing to what follows these words: with tiles of dynamic size at least one."""
        return largest(1, self.at(rows)) if self.rows else self.fixed


@lru_cache(maxsize=1 << 12)  # channels of a program carry few types that differ
def data_words(element: ElementType | None, link_bytes: int, rows: int = 0) -> int:
    """Words that follow the header of a value of ``element``; none if only the header is sent (None).

    Tiles of dynamic size have so many ``rows``, and are no control, whatever their size.
    """
    return 0 if element is None or element.is_control else int(Span.of((element,), link_bytes).at(rows))


@dataclass(frozen=True)
class Gathering:
    """Tiles with ``row`` bits a row whose words of ``narrow`` bits are gathered to words of ``wide`` ones."""

    row: int
    narrow: int
    wide: int

    def waits(self, rows: Any) -> Any:
        """Cycles that a header waits so that its words can be read without a gap: a number, or hardware."""
        return parts(rows, self.row, self.narrow) - parts(rows, self.row, self.wide)


def stop_bits(rank: int) -> int:
    """Bits of a stop token, or of the rank of an empty, in a stream of ``rank``."""
    return max(1, rank.bit_length())


def rows_bits(most_rows: int) -> int:
    """Bits of a number of rows; one more than the most is told as well, so that it can be refused."""
    return (most_rows + 1).bit_length()


INSIDE = 2
"""Slots of a channel between two machines of a unit, or one and off-chip memory, besides those for what is in flight.
"""


def slots_in_flight(latency: int, interval: int) -> int:
    """Slots beside its depth that a channel has for tokens on their way through the unit in front of it.

    A slot is free again ``latency`` + 2 cycles after its claim at the earliest, and there are two at least.
    """
    return latency // interval


def slots_on_the_way(hops: int, words: int) -> int:
    """Slots beside its depth that a channel has for values of so many ``words`` that pass its ``hops``, and for freed
    slots that come back: with them hops take no throughput."""
    return -(-2 * hops // words)


def link_words(element: ElementType | None, link_bytes: int, rows: int = 0) -> int:
    """Cycles that a value of ``element``, with so many ``rows`` where these are dynamic, takes on a link: 1 or more."""
    return max(1, data_words(element, link_bytes, rows))


# -- who needs values: slices of a lowered graph, in which every stream has at most one reader -------------------------


def needed_ports(lowered: Graph) -> set[Port]:
    """The inputs whose values somebody needs.

    They are needed by what leaves the program, by what decides, and by whatever makes a value of them that is needed.
    """

    def needed(node: Node) -> Iterable[int]:
        operator, inputs = node.operator, len(node.inputs)
        return range(inputs) if operator.ends_run else (*operator.decides_on(inputs), *operator.counts_rows(node))

    return _upstream(lowered, needed)


def deciding(lowered: Graph) -> frozenset[str]:
    """Names of the units whose values decide what some unit does: the backward slice from all selectors."""
    found = _upstream(lowered, lambda node: node.operator.decides_on(len(node.inputs)))
    return frozenset(lowered.nodes[name].inputs[port].producer for name, port in found)


def _upstream(lowered: Graph, chosen: Callable[[Node], Iterable[int]]) -> set[Port]:
    """The ``chosen`` inputs, and all that their values are made of; what is read is made of what was written."""
    written = [(each.tensor, (node.name, each.port)) for node, each in accesses(lowered, writes=True) if each.tensor]
    found, todo = set[Port](), [(node.name, port) for node in lowered for port in chosen(node)]
    while todo:
        consumer = todo.pop()
        if consumer not in found:
            found.add(consumer)
            stream = lowered.nodes[consumer[0]].inputs[consumer[1]]
            node = lowered.nodes[stream.producer]
            todo += [(node.name, port) for port in node.operator.passes_on(len(node.inputs), stream.port)]
            read = node.operator.reads(node)
            if read is not None:
                todo += [data for tensor, data in written if tensor == read.tensor]
    return found


# -- room: slots of channels, and rows of tiles of dynamic size for which each has places ------------------------------


def rows_behind(lowered: Graph, promised: Mapping[str, Any], most: int) -> Mapping[str, int]:
    """The most rows of a tile of dynamic size that leaves a unit, by its name.

    Tiles have ``most`` rows where they begin, or what is ``promised`` there, and keep them on their way: a unit sends
    no more than the most that it is sent. Raises `FabricError` for numbers that can not be promised.
    """
    begun = {node.name: promised.get(node.name, most) for node in lowered if node.operator.makes_rows(node)}
    for name, rows in promised.items():
        if name not in begun:
            raise FabricError(
                f"most_rows of {name!r}: {did_you_mean(name, list(begun))}tiles of dynamic size begin at "
                f"{', '.join(begun) or 'no operator'}"
            )
        settled(rows, Count, f"most_rows of {name!r}", FabricError)
        if rows > most:
            raise FabricError(
                f"most_rows of {name!r} must be at most the fabric's dynamic_rows of {most:,}, not {rows:,}"
            )
    senders = {node.name: _senders(node) for node in lowered if node.name not in begun}
    found, before = {**dict.fromkeys(senders, 0), **begun}, None
    while found != before:  # loops bring rows back to where they passed
        before = dict(found)
        for name, behind in senders.items():
            found[name] = max((found[each] for each in behind), default=most)
    return {name: rows or most for name, rows in found.items()}


def _senders(node: Node) -> list[str]:
    """The units that ``node`` has tiles of dynamic size from."""
    return [each.producer for each in node.inputs if any(not tile.rows.is_static for tile in each.element.tiles)]


def check_depths(graph: Graph, fabric: FabricConfig) -> None:
    """Raise `FabricError` for a channel that takes more memory than any chip has."""
    for node in graph:
        for port, stream in enumerate(node.inputs):
            depth, width = stream.depth or fabric.channel_depth, _slot_bits(stream.element, fabric.dynamic_rows)
            if depth * width > MOST_BITS:
                here = f"{MOST_BITS // width:,} slots"
                if width > _slot_bits(stream.element, 1):
                    here = f"tiles of {fabric.dynamic_rows * MOST_BITS // (depth * width):,} rows: lower dynamic_rows"
                raise FabricError(
                    f"{node.describe()}: the channel in front of input {port} ({stream}) has {depth:,} slots, which is "
                    f"{depth * width:,} bits; a channel may have {MOST_BITS:,}, here {here}"
                )


def _slot_bits(element: ElementType, most_rows: int) -> int:
    """Bits of a slot, at least one for the header; a tile with a dynamic number of rows has room for ``most_rows``."""
    element = with_rows(element, most_rows)
    return max(1, element.bits) if element.is_static else 1
