"""ItemOf: one item of tuples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sim_approx.engine.words import unknown
from sim_approx.placing.site import Site
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need, put, room, take
from step.language.tokens import Token
from step.language.types import Tuple
from step.lowering.links import tuple_words
from step.ops.item_of import ItemOf as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class ItemOf(Machine):
    """The item leaves when its words come."""

    value: Callable[[Any], Any]

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        room(self.outputs[0])
        take(self.inputs[0])
        if x.has_value:
            put(self.outputs[0], Token(self.value(x.value), x.stop))
            return COMPUTES
        put(self.outputs[0], x)
        return ENDS if x.done else None


def build(site: Site) -> Machine:
    operator, element = site.node.operator, site.node.input_types[0].element
    assert isinstance(operator, Operator) and isinstance(element, Tuple)
    index, words = operator.index, tuple_words(element, site.fabric.link_bytes)
    latency = 0
    if site.carries:  # an item that is control is part of the header, which waits for it
        latency = sum(words[:index]) + (words[index] if element.items[index].is_control else 0)
    value = itemgetter(index) if site.computes else unknown
    return site.add(ItemOf(**site.ports(), latency=latency, interval=site.beats, value=value))
