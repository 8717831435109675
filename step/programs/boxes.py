"""The parts of every picture of a program: the boxes of operators, and the names at the ends of edges."""

from __future__ import annotations

import textwrap

from step.language.graph import Graph, Node
from step.language.operator import Kind
from step.programs.outline import Edge, call

COLOURS = {
    Kind.OFF_CHIP: "#cfe3f7",
    Kind.ON_CHIP: "#e6daf2",
    Kind.BOUNDARY: "#e4e4e4",
    Kind.ROUTING: "#fbe0c3",
    Kind.HIGHER_ORDER: "#d7efd2",
    Kind.SHAPE: "#ffffff",
}

WIDEST = 36
"""Characters of a line in a box."""


def label(node: Node) -> list[str]:
    """Lines of a node's box: its name, and the operator with its parameters."""
    return [node.name, *textwrap.wrap(call(node.operator), WIDEST, subsequent_indent="  ", break_long_words=False)]


def ends(graph: Graph, edge: Edge) -> tuple[str, str]:
    """The names of the ports at both ends; empty where there is but one port, or none that needs a name."""
    producer, consumer = graph.nodes[edge.producer], graph.nodes[edge.consumer]
    return (
        edge.output if len(producer.output_types) > 1 else "",
        edge.input if len(consumer.inputs) > 1 else "",
    )
