"""Reshape: chunks of the innermost dimension, the last one filled up, or of another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from step.firing.declared import Declared
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need, put, room, take
from step.language.graph import Node
from step.language.tokens import DONE, Token, empty
from step.language.types import is_dynamic
from step.ops.reshape import Reshape as Operator
from step.ops.reshape import pad_element

REAL, PADDING = np.zeros((1, 1), np.bool_), np.ones((1, 1), np.bool_)


@dataclass(slots=True, eq=False, kw_only=True)
class Reshape(Machine):
    """Outputs: the data, and the flag that is true for padding.

    Words: ``count`` of elements in the open chunk; ``filling`` it up, to end with the stop ``fill_stop`` + 1.
    """

    chunk: int
    filler: Any
    count: int = 0
    filling: bool = False
    fill_stop: int = 0

    def fire(self) -> int | None:
        last = self.count == self.chunk - 1
        x = DONE
        if not self.filling:
            x = need(self.inputs[0])
        for each in self.outputs:
            room(each)
        if self.filling or (x.done and self.count):
            stop = self.fill_stop + 1 if last else 0
            put(self.outputs[0], Token(self.filler, stop))
            put(self.outputs[1], Token(PADDING, stop))
            self.count = 0 if last else self.count + 1
            self.filling = self.filling and not last
            return COMPUTES
        if x.has_value:
            take(self.inputs[0])
            stop = x.stop + 1 if last else 0
            put(self.outputs[0], Token(x.value, stop))
            put(self.outputs[1], Token(REAL, stop))
            self.count = 0 if last else self.count + 1
            self.filling = x.stop > 0 and not last
            self.fill_stop = x.stop
            return COMPUTES
        if not x.done:
            take(self.inputs[0])
            for each in self.outputs:
                put(each, empty(x.rank + 1, x.stop + 1))
            return None
        take(self.inputs[0])
        for each in self.outputs:
            put(each, x)
        return ENDS


@dataclass(slots=True, eq=False, kw_only=True)
class Split(Machine):
    """Chunks of tensors of ``rank``. Outputs as above. Word: ``count`` of tensors in the open chunk."""

    chunk: int
    rank: int
    count: int = 0

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        for each in self.outputs:
            room(each)
        take(self.inputs[0])
        if x.done:
            for each in self.outputs:
                put(each, x)
            return ENDS
        if x.rank > self.rank:
            for each in self.outputs:
                put(each, empty(x.rank + 1, x.stop + 1))
            return None
        last = self.count == self.chunk - 1
        stop = x.stop
        if x.stop >= self.rank:
            stop = x.stop + last
            self.count = 0 if last else self.count + 1
        if x.has_value:
            put(self.outputs[0], Token(x.value, stop))
            put(self.outputs[1], Token(REAL, stop))
            return COMPUTES
        for each in self.outputs:
            put(each, empty(x.rank, stop))
        return None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    operator = node.operator_as(Operator)
    if operator.rank:
        return Declared(Split, {"chunk": operator.chunk, "rank": operator.rank})
    element = node.inputs[0].element
    filler = None if operator.chunk == 1 or is_dynamic(element) else pad_element(element, operator.pad)
    return Declared(Reshape, {"chunk": operator.chunk, "filler": filler}, latency=int(operator.chunk > 1))
