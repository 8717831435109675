"""Whose values somebody needs, and whose decide: backward slices of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from step.language.graph import Node

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
