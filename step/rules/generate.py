"""Generate: a stream that the program makes itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from step.firing.declared import Declared
from step.firing.item import Listed
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need, put, room, take
from step.language.graph import Node
from step.language.loops import Stops
from step.language.tokens import BLANK, DONE, UNKNOWN, Token, empty
from step.ops.generate import Generate as Operator

ELEMENT = Token(UNKNOWN)
"""The only element that there is to refer to without a reference."""


@dataclass(slots=True, eq=False, kw_only=True)
class Generate(Machine):
    """A value per firing: those ``before``, those for every element of the reference, those behind: ``total``.

    ``levels`` has the own stops of the values for an element, of which number ``last`` is the last one.

    Words: ``place`` of the next value, ``step`` of an element, ``left`` of those behind; ``over``: without a reference,
    its element has passed.
    """

    before: int
    last: int
    total: int
    rank: int
    levels: Sequence[int]
    value: Callable[[int], Any]
    left: int
    over: bool
    place: int = 0
    step: int = 0

    def fire(self) -> int | None:
        begins = self.place < self.before
        x = BLANK if begins else DONE if self.over else ELEMENT
        if not begins:
            for each in self.inputs:
                x = need(each)
        room(self.outputs[0])
        behind = x.done and self.left > 0
        ends = self.step == len(self.levels) - 1
        if not begins and not behind and (ends or not x.has_value):
            for each in self.inputs:
                take(each)
        if begins or behind or x.has_value:
            number = self.total - self.left if behind else self.place
            stop = 0
            if x.has_value:
                stop = self.levels[self.step] + (x.stop if ends else 0)
                self.step = 0 if ends else self.step + 1
                self.over = ends and not self.inputs
            put(self.outputs[0], Token(self.value(number), stop))
            if behind:
                self.left -= 1
            else:
                self.place = self.before if self.place == self.last else self.place + 1
            return COMPUTES
        put(self.outputs[0], x if x.done else empty(x.rank + self.rank, x.stop + self.rank))
        return ENDS if x.done else None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    operator = node.operator_as(Operator)
    if isinstance(operator.values, range):
        value = Listed(operator.values, operator.number)
    else:
        value = Listed(operator.constants, operator.constants.__getitem__)
    before, depth, behind = len(operator.before), len(operator.extents), len(operator.behind)
    last = before + len(operator.values) - 1
    given = {"before": before, "last": last, "total": last + 1 + behind, "left": behind, "rank": depth}
    levels = Stops(operator.extents, depth if node.inputs else depth - 1)
    return Declared(Generate, {**given, "levels": levels, "over": not len(levels), "value": value})
