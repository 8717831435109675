"""The error for a contract violation: the same text in every back end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from step.errors import StreamFault
from step.language.faults import SHOWS_VALUES, Fault
from step.language.graph import Graph, Node
from step.language.tokens import Token
from step.language.types import ElementType, Selector
from step.lowering.fabric import FabricConfig


def control_text(token: Token, value: str = "a value") -> str:
    """What a token is, without its value: ``a value``, ``a value with S1``, ``an empty of rank 1``, ``Done``.

    ``value`` stands for its value.
    """
    if token.done:
        return "Done"
    what = f"an empty of rank {token.rank}" if token.is_empty else value
    return f"{what} with S{token.stop}" if token.stop > token.rank else what


@singledispatch
def value_text(element: ElementType, value: Any) -> str:
    """A value of ``element``, which is one scalar, or a selector."""
    return str(np.asarray(value).item())


@value_text.register
def _(element: Selector, value: int) -> str:
    targets = [str(target) for target in range(element.targets) if value >> target & 1]
    return f"a selector of {', '.join(targets) or 'no target'}"


def stream_fault(
    node: Node, fault: Fault, heads: Mapping[int, tuple[int, Token]], fabric: FabricConfig | None = None
) -> StreamFault:
    """The error for ``fault`` at ``node``; ``heads`` has, per input port, the token in front and its position.

    Some faults are met by a ``fabric`` only, whose figures are in their text.
    """
    lines = [f"{node.describe()}: {node.operator.fault_text(fault).format(fabric=fabric)}"]
    for port in node.operator.fault_ports(fault, len(node.inputs)):
        position, token = heads[port]
        shown = fault in SHOWS_VALUES and token.has_value
        value = value_text(node.input_types[port].element, token.value) if shown else "a value"
        lines.append(f"  token {position} of {node.inputs[port]} is {control_text(token, value)}")
    return StreamFault("\n".join(lines))


def first_fault(
    graph: Graph, faults: Mapping[str, StreamFault], broken: Mapping[str, StreamFault]
) -> StreamFault | None:
    """The error that is reported: the first in the order of ``graph``.

    ``faults`` are those that units met, by their names; ``broken`` those of streams whose tokens do not fit their
    shapes, which come behind the writer's own. Which one comes first in time depends on the fabric, so every back end
    lets a run go on until nothing moves.
    """
    for node in graph:
        streams = [graph.stream_name(node.name, port) for port in range(len(node.output_types))]
        for found in (faults.get(node.name), *map(broken.get, streams)):
            if found is not None:
                return found
    return None
