"""Plan of functions that replace rows or columns of a tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from step.language.function import Function
from step.lowering.plans.plan import Application, TilePlan, Timing
from step.lowering.plans.words import Words


def plan(function: Function, application: Application) -> EditPlan:
    """Words go through a register as they come."""
    tile, *more = map(application.words, range(len(application.inputs)))
    row = more[1] if len(more) > 1 else None
    return EditPlan(function, tile, tile, row, most_rows=tile.rows if application.dynamic else 0)


@dataclass(frozen=True)
class EditPlan(TilePlan):
    """The words of the ``tile`` leave a cycle after they came; a number, and mostly a ``row``, come beside them."""

    row: Words | None

    @property
    def operand_bits(self) -> tuple[int, ...]:
        return self.tile.word_bits, 32, *(() if self.row is None else (self.row.word_bits,))

    def at(self, rows: Any) -> Timing:
        return Timing(super().at(rows).initiation_interval, 1, streams=True)
