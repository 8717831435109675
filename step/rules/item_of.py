"""ItemOf: one item of tuples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from step.firing.declared import Declared
from step.firing.item import Item
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need, put, room, take
from step.language.graph import Node
from step.language.tokens import Token
from step.language.types import Tuple
from step.ops.item_of import ItemOf as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class ItemOf(Machine):
    """The item leaves when its words come."""

    item: Callable[[Any], Any]

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        room(self.outputs[0])
        take(self.inputs[0])
        if x.has_value:
            self.resize(x.value)
            put(self.outputs[0], Token(self.item(x.value), x.stop))
            return COMPUTES
        self.resize(0)
        put(self.outputs[0], x)
        return ENDS if x.done else None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    operator, element = node.operator_as(Operator), node.input_types[0].element
    assert isinstance(element, Tuple)
    item = Item(element, operator.index)
    return Declared(ItemOf, {"item": item}, latency=item.latency)
