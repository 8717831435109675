"""Map: a function of the elements of aligned streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from step.firing.declared import TILED, Applied, Declared
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import fault, need_all, number, put, room, take, targets_in, values
from step.language.faults import Fault, aligned, same_rows
from step.language.graph import Node
from step.language.tokens import Token
from step.ops.map import Map as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Map(Machine):
    """Only a value keeps the function busy; stops and Done take the same latency, so that order is kept.

    Inputs ``tiled`` have tiles of dynamic size.
    """

    apply: Callable[..., Any]
    bounds: tuple[tuple[int, int], ...]
    counts: tuple[tuple[int, int], ...]
    tiled: tuple[int, ...]

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        same_rows(tokens, self.tiled)
        if x.has_value:
            for port, bound in self.bounds:
                if number(tokens[port].value) >= bound:
                    fault(Fault.OUT_OF_RANGE)
            for port, count in self.counts:
                if targets_in(tokens[port].value) != count:
                    fault(Fault.OUT_OF_RANGE)
        room(self.outputs[0])
        for each in self.inputs:
            take(each)
        if x.has_value:
            put(self.outputs[0], Token(self.apply(*values(tokens)), x.stop))
            return COMPUTES
        put(self.outputs[0], x)
        return ENDS if x.done else None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    operator = node.operator_as(Operator)
    checked = {"bounds": operator.bounds(node), "counts": operator.counts(node)}
    return Declared(Map, {"apply": Applied.to_elements(node, operator.function), **checked, "tiled": TILED})
