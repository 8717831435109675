"""Needs of a program: values that somebody needs, or that decide, and room in channels.

The first two are backward slices. Room are the slots that there may be, and rows of tiles of dynamic size for which
each has places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from step.errors import FabricError
from step.host.nearest import did_you_mean
from step.language.graph import Graph, Node
from step.language.parameters import Within, settled
from step.language.types import ElementType, with_rows
from step.lowering.fabric import FabricConfig
from step.lowering.limits import MOST_BITS

Port = tuple[str, int]
"""Name of a node, and number of one of its inputs or outputs."""


def needed_ports(units: Iterable[Node], producers: Mapping[Port, Port]) -> frozenset[Port]:
    """The inputs whose values somebody needs, of ``units`` with what ``producers`` says is in front of every input.

    They are needed by what leaves the program, by what decides, and by whatever makes a value of them that is needed.
    """
    nodes = {node.name: node for node in units}

    def needed(node: Node) -> Iterable[int]:
        operator, inputs = node.operator, len(node.inputs)
        return range(inputs) if operator.ends_run else (*operator.decides_on(inputs), *operator.counts_rows(node))

    todo = [(node.name, port) for node in nodes.values() for port in needed(node)]
    return frozenset(_upstream(nodes, producers, todo))


def deciding(units: Iterable[Node], producers: Mapping[Port, Port]) -> frozenset[str]:
    """Names of the units whose values decide what some unit does: the backward slice from all selectors."""
    nodes = {node.name: node for node in units}
    todo = [(node.name, port) for node in nodes.values() for port in node.operator.decides_on(len(node.inputs))]
    return frozenset(producers[each][0] for each in _upstream(nodes, producers, todo))


def _upstream(nodes: Mapping[str, Node], producers: Mapping[Port, Port], todo: list[Port]) -> set[Port]:
    """The inputs in ``todo``, and all that their values are made of; what is read is made of what was written."""
    accesses = [(node.name, node.operator.writes(node)) for node in nodes.values()]
    written = [(each.tensor, (name, each.port)) for name, each in accesses if each is not None and each.tensor]
    found: set[Port] = set()
    while todo:
        consumer = todo.pop()
        if consumer not in found:
            found.add(consumer)
            name, output = producers[consumer]
            node = nodes[name]
            todo += [(name, port) for port in node.operator.passes_on(len(node.inputs), output)]
            read = node.operator.reads(node)
            if read is not None:
                todo += [data for tensor, data in written if tensor == read.tensor]
    return found


def rows_behind(
    units: Iterable[Node], producers: Mapping[Port, Port], promised: Mapping[str, int], most: int
) -> Mapping[str, int]:
    """The most rows of a tile of dynamic size that leaves a unit, by its name.

    Tiles have ``most`` rows where they begin, or what is ``promised`` there, and keep them on their way: a unit sends
    no more than the most that it is sent. ``producers``: where the stream of an input comes from.
    """
    units = list(units)
    begun = {unit.name: promised.get(unit.name, most) for unit in units if unit.operator.makes_rows(unit)}
    sending = {unit.name: _senders(unit, producers) for unit in units if unit.name not in begun}
    found, before = {**dict.fromkeys(sending, 0), **begun}, None
    while found != before:  # loops bring rows back to where they passed
        before = dict(found)
        for name, senders in sending.items():
            found[name] = max((found[each] for each in senders), default=most)
    return {name: rows or most for name, rows in found.items()}


def _senders(unit: Node, producers: Mapping[Port, Port]) -> list[str]:
    """The units that ``unit`` has tiles of dynamic size from."""
    return [
        producers[unit.name, port][0]
        for port, stream in enumerate(unit.inputs)
        if any(not tile.rows.is_static for tile in stream.element.tiles)
    ]


def check_most_rows(most_rows: Mapping[str, Any], units: Iterable[Node], most: int) -> None:
    """Raise `FabricError` unless the numbers of ``most_rows`` can be promised where tiles of dynamic size begin."""
    begin = [each.name for each in units if each.operator.makes_rows(each)]
    for name, rows in most_rows.items():
        if name not in begin:
            raise FabricError(
                f"most_rows of {name!r}: {did_you_mean(name, begin)}tiles of dynamic size begin at "
                f"{', '.join(begin) or 'no operator'}"
            )
        settled(rows, Annotated[int, Within(1)], f"most_rows of {name!r}", FabricError)
        if rows > most:
            raise FabricError(
                f"most_rows of {name!r} must be at most the fabric's dynamic_rows of {most:,}, not {rows:,}"
            )


def check_depths(graph: Graph, fabric: FabricConfig) -> None:
    """Raise `FabricError` for a channel that takes more memory than any chip has."""
    for node in graph:
        for port, stream in enumerate(node.inputs):
            depth, width = stream.depth or fabric.channel_depth, _bits(stream.element, fabric.dynamic_rows)
            if depth * width > MOST_BITS:
                here = f"{MOST_BITS // width:,} slots"
                if width > _bits(stream.element, 1):
                    here = f"tiles of {fabric.dynamic_rows * MOST_BITS // (depth * width):,} rows: lower dynamic_rows"
                raise FabricError(
                    f"{node.describe()}: the channel in front of input {port} ({stream}) has {depth:,} slots, which is "
                    f"{depth * width:,} bits; a channel may have {MOST_BITS:,}, here {here}"
                )


def _bits(element: ElementType, most_rows: int) -> int:
    """Bits of a slot, at least one for the header; a tile with a dynamic number of rows has room for ``most_rows``."""
    element = with_rows(element, most_rows)
    return max(1, element.bits) if element.is_static else 1
