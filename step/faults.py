"""Contract violations that only show at run time, with the same code and text in every back end."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING

from step.errors import StreamFault
from step.tokens import Token

if TYPE_CHECKING:
    from step.graph import Node


class Fault(enum.IntEnum):
    """What a unit found; the number is what its RTL reports."""

    STOPS_DISAGREE = 1
    MISSING_DATA = 2
    LEFTOVER_DATA = 3
    WRONG_COUNT = 4


_MEANING = {
    Fault.STOPS_DISAGREE: "its inputs do not have the same shape",
    Fault.MISSING_DATA: "a selector came without the data that it should route",
    Fault.LEFTOVER_DATA: "data is left over after the last selector",
    Fault.WRONG_COUNT: "a reduction did not get the number of elements that its static shape promises",
}


class Violation(Exception):
    """Raised by an operator's process; the interpreter adds operator, position and source line."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


def control_text(token: Token) -> str:
    """What a token is, without its value: ``a value``, ``a value with S1``, ``a bare S2`` or ``Done``."""
    if token.done:
        return "Done"
    if not token.has_value:
        return f"a bare S{token.stop}"
    return f"a value with S{token.stop}" if token.stop else "a value"


def stream_fault(node: Node, fault: Fault, heads: Mapping[int, tuple[int, Token]]) -> StreamFault:
    """The error for ``fault`` at ``node``; ``heads`` has, per input port, the token in front and its position."""
    lines = [f"{node.describe()}: {_MEANING[fault]}"]
    for port in node.operator.fault_ports(fault, len(node.inputs)):
        position, token = heads[port]
        lines.append(f"  token {position} of {node.inputs[port]} is {control_text(token)}")
    return StreamFault("\n".join(lines))


def aligned(*tokens: Token) -> Token:
    """The common control of ``tokens``; raises `Violation` where they differ."""
    first = tokens[0]
    for token in tokens[1:]:
        if (token.stop, token.done, token.has_value) != (first.stop, first.done, first.has_value):
            raise Violation(Fault.STOPS_DISAGREE)
    return first
