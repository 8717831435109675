"""Plan of the largest scalars with their indices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from step.functions.max_index import MaxIndex
from step.lowering.plans.parts import Circuit, Part
from step.lowering.plans.plan import Application, DatapathPlan, Timing
from step.lowering.plans.rows import word_bits
from step.lowering.plans.words import Words


def plan(function: MaxIndex, application: Application) -> MaxIndexPlan:
    """Tiles are collected, and all their scalars are compared in a cycle."""
    values, indices = (Words.of(each, application.fabric.link_bytes) for each in application.inputs)
    return MaxIndexPlan(values, indices, 8 * application.fabric.link_bytes, function.k)


@dataclass(frozen=True)
class MaxIndexPlan(DatapathPlan):
    """The words of ``values`` and ``indices`` come; behind the last one is a cycle for the state, which then leaves."""

    values: Words
    indices: Words
    link_bits: int
    k: int

    reduce = True
    takes_rows = False

    operands = property(lambda self: (self.values, self.indices))
    rows = property(lambda self: self.values.rows)

    result_bits = property(lambda self: word_bits(self.items, self.link_bits))

    @property
    def items(self) -> tuple[int, int]:
        """Bits of the items of the state."""
        return self.values.bits * self.k, self.indices.bits * self.k

    @property
    def parts(self) -> Iterable[Part]:
        """The comparisons, and registers of operands and states."""
        yield Circuit("max_index", amounts={"bits": sum(self.items), "word_bits": self.result_bits})

    def at(self, rows: Any) -> Timing:
        collecting = max(self.values.words, self.indices.words)
        return Timing(collecting, collecting + 1, streams=True)
