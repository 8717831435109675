"""Until: a stream that ends where a selector says so."""

from __future__ import annotations

from dataclasses import dataclass

from step.firing.declared import Declared
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import chosen, fault, need, put, room, take
from step.language.faults import Fault
from step.language.graph import Node
from step.language.tokens import DONE
from step.ops.until import DATA, SELECTOR


@dataclass(slots=True, eq=False, kw_only=True)
class Until(Machine):
    """Words: a selector is next (``asks``); Done was sent (``over``); one of the inputs has ended (``last``)."""

    rank: int
    asks: bool = False
    over: bool = False
    last: bool = False

    def fire(self) -> int | None:
        if self.asks:
            selector = need(self.inputs[SELECTOR])
            if selector.done:
                if not self.over:
                    fault(Fault.MISSING_DATA)
                take(self.inputs[SELECTOR])
                if self.last:
                    return ENDS
                self.asks = False
                self.last = True
                return None
            if self.over or chosen(self.outputs, selector.value):
                take(self.inputs[SELECTOR])
                self.asks = self.last
                return None
            room(self.outputs[0])
            take(self.inputs[SELECTOR])
            put(self.outputs[0], DONE)
            self.asks = False
            self.over = True
            return None
        x = need(self.inputs[DATA])
        if self.over:
            take(self.inputs[DATA])
            if x.done and self.last:
                return ENDS
            self.asks = not self.last and (x.done or x.stop >= self.rank)
            self.last = self.last or x.done
            return None
        room(self.outputs[0])
        take(self.inputs[DATA])
        put(self.outputs[0], x)
        self.asks = x.done or x.stop >= self.rank
        self.over = x.done
        self.last = x.done
        return COMPUTES if x.has_value else None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    return Declared(Until, {"rank": node.inputs[DATA].rank})
