"""Generate: a stream that the program makes itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sim_approx.engine.words import unknown
from sim_approx.placing.site import UnitSite
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need, put, room, take
from step.language.tokens import DONE, Token, empty
from step.ops.generate import Generate as Operator


@dataclass(slots=True, eq=False, kw_only=True)
class Generate(Machine):
    """A value per firing: those ``before``, those for every element of the reference, those behind: ``total``.

    Words: ``place`` of the next value, ``step`` of an element of the reference, ``left`` of those behind.
    """

    before: int
    period: int
    levels: Sequence[int]
    rank: int
    total: int
    left: int
    value: Callable[[int], Any]
    place: int = 0
    step: int = 0

    def fire(self) -> int | None:
        reference = DONE
        referred = len(self.inputs) > 0
        if self.place >= self.before:
            if referred:
                reference = need(self.inputs[0])
            elif self.step < len(self.levels):
                reference = Token(None)
        room(self.outputs[0])
        if self.place < self.before:
            put(self.outputs[0], Token(self.value(self.place)))
            self.place += 1
            return COMPUTES
        if reference.has_value:
            last = self.step == len(self.levels) - 1
            stop = self.levels[self.step] + (reference.stop if last else 0)
            put(self.outputs[0], Token(self.value(self.place), stop))
            self.place = self.before if self.place == self.before + self.period - 1 else self.place + 1
            if last and referred:
                take(self.inputs[0])
            self.step = 0 if last and referred else self.step + 1
            return COMPUTES
        if reference.done and self.left:
            put(self.outputs[0], Token(self.value(self.total - self.left)))
            self.left -= 1
            return COMPUTES
        if referred:
            take(self.inputs[0])
        if reference.done:
            put(self.outputs[0], reference)
            return ENDS
        put(self.outputs[0], empty(reference.rank + self.rank, reference.stop + self.rank))
        return None


def build(site: UnitSite) -> Machine:
    operator = site.node.operator
    assert isinstance(operator, Operator)
    value = unknown
    if site.computes:
        value = operator.number if isinstance(operator.values, range) else operator.constants.__getitem__
    return site.add(
        Generate(
            **site.ports(),
            interval=site.words_out[0],
            before=len(operator.before),
            period=len(operator.values),
            levels=operator.levels(bool(site.inputs)),
            rank=len(operator.extents),
            total=len(operator.before) + len(operator.values) + len(operator.behind),
            left=len(operator.behind),
            value=value,
        )
    )
