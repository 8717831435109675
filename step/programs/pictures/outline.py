"""A program in words, for texts and boxes of pictures: operators, ports with their streams, and depths of channels."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from step.language.function import Function
from step.language.graph import Graph, Node, Tensor
from step.language.operator import Kind
from step.lowering.fabric import FabricConfig

LONGEST = 8
"""Items of a parameter that are shown."""


@dataclass(frozen=True)
class Edge:
    """The input of a port: names of nodes and of their ports, the stream with its type, and the channel's depth, which
    the program asks for (``asked``) or the fabric has for all."""

    producer: str
    output: str
    consumer: str
    input: str
    stream: str
    type: str
    depth: int
    asked: bool

    @property
    def lines(self) -> list[str]:
        """Lines beside it in a picture."""
        return [self.type, *([f"depth {self.depth}"] if self.asked else [])]


def edges(graph: Graph, fabric: FabricConfig) -> list[Edge]:
    """Every edge, in the order of those who read."""
    return [edge for node in graph for edge in _inputs(graph, node, fabric)]


def _inputs(graph: Graph, node: Node, fabric: FabricConfig) -> Iterator[Edge]:
    for name, stream in zip(node.input_ports, node.inputs, strict=True):
        source = graph.resolve(stream)
        output = graph.nodes[source.producer].output_ports[source.port]
        depth = stream.depth or fabric.channel_depth
        asked = depth != fabric.channel_depth
        yield Edge(source.producer, output, node.name, name, str(stream), str(source.type), depth, asked)


def call(owner: Any) -> str:
    """An operator or function with its parameters: ``partition(rank=0, targets=2)``."""
    given = ((each.name, getattr(owner, each.name)) for each in fields(owner))
    return f"{owner.name}({', '.join(f'{name}={_value(value)}' for name, value in given if value is not None)})"


def _value(value: Any) -> str:
    match value:
        case Function():
            return call(value).removesuffix("()")
        case Tensor():
            return value.name
        case tuple():
            shown = [_value(each) for each in value[:LONGEST]]
            return f"[{', '.join(shown)}{f', ... {len(value)} of them' if len(value) > LONGEST else ''}]"
    return str(value)


def text(graph: Graph, fabric: FabricConfig) -> str:
    """Lines of each operator: its parameters, one for each input and one for each output."""
    lines = []
    for node in graph:
        lines.append(f"{node.name} = {call(node.operator)}")
        lines += [f"    {edge.input}: {edge.stream}, depth {edge.depth}" for edge in _inputs(graph, node, fabric)]
        for port, (name, each) in enumerate(zip(node.output_ports, node.output_types, strict=True)):
            lines.append(f"    {name}: {graph.stream_name(node.name, port)}, {each}")
    return "\n".join(lines) + "\n"


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
