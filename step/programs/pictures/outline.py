"""A program in words, for texts and boxes of pictures: operators, ports with their streams, and depths of channels."""

from __future__ import annotations

import textwrap
from dataclasses import fields
from typing import Any

from step.language.function import Function
from step.language.graph import Graph, Node, Tensor
from step.lowering.fabric import FabricConfig

LONGEST = 8
"""Items of a parameter that are shown."""


def call(owner: Any) -> str:
    """An operator or function with its parameters but for those that nobody chose: ``partition(targets=2)``."""
    given = ((each.name, getattr(owner, each.name), each.default) for each in fields(owner))
    shown = (f"{name}={_value(value)}" for name, value, default in given if value not in (None, default))
    return f"{owner.name}({', '.join(shown)})"


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


PLAIN = "#ffffff"
"""Colour of what only shapes a stream, and of what is no operator or is shown by name alone."""


def colour(node: Node) -> str:
    """Colour of a node's box: off-chip memory, on-chip memory, edge of the fabric, function, routing, or shape."""
    operator, inputs = node.operator, len(node.inputs)
    if operator.reads(node) or operator.writes(node):
        return "#cfe3f7"
    if operator.fills_buffers or operator.reads_buffers:
        return "#e6daf2"
    if operator.given() or operator.hands_out:
        return "#e4e4e4"
    if operator.function:
        return "#d7efd2"
    return "#fbe0c3" if operator.decides_on(inputs) or operator.arrival_ports(inputs) else PLAIN


WIDEST = 36
"""Characters of a line in a box."""


def label(node: Node) -> list[str]:
    """Lines of a node's box: its name, and the operator with its parameters."""
    return [node.name, *textwrap.wrap(call(node.operator), WIDEST, subsequent_indent="  ", break_long_words=False)]
