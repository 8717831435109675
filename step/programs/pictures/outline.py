"""A program in words, for texts and boxes of pictures: operators, ports with their streams, and depths of channels."""

from __future__ import annotations

import textwrap
from dataclasses import fields
from typing import Any

from step.language.function import Function
from step.language.graph import Graph, Node, Tensor
from step.language.operator import Kind
from step.lowering.fabric import FabricConfig

LONGEST = 8
"""Items of a parameter that are shown."""


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
        for name, stream in zip(node.input_ports, node.inputs, strict=True):
            lines.append(f"    {name}: {stream}, depth {stream.depth or fabric.channel_depth}")
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
