"""Plan of the matrix product of tiles with a dynamic number of rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from step.lowering.plans.matmul_plan import MatmulPlan
from step.lowering.plans.rows import entry


class RowsMatmulPlan(MatmulPlan):
    """A `MatmulPlan` for left operands that may have fewer rows than the arrangement has.

    One with few rows has short turns, so it must begin later, when more words of the right operand are there. Products
    do not meet on the lanes: one that begins late keeps the next one waiting for so much longer as this may begin
    sooner. So none begins sooner than the others need, as long as words of the right operand come. A result may wait
    for the words of the one before it. Stores have room for the worst order of sizes. Where products share a turn each
    has the slot of one with all rows.
    """

    assembled = (False, False)
    shifts = False
    takes_rows = True
    most_rows = property(lambda self: self.arrangement.rows)

    @property
    def sizes(self) -> range:
        return range(1, self.arrangement.rows + 1)

    @cached_property
    def begins(self) -> tuple[int, ...]:
        """`begin_of` for each number of rows; none begin at once."""
        soonest, busy = {rows: max(1, self.soonest(rows)) for rows in self.sizes}, super().interval_of
        least = max(each + self.arrangement.interval(rows) - busy(rows) for rows, each in soonest.items())
        comes = self.operands[1].words  # the lanes begin with a word
        return 0, *(max(each, min(least, comes)) for each in soonest.values())

    def begin_of(self, rows: Any) -> Any:
        return entry(rows, self.begins)

    def interval_of(self, rows: int) -> int:
        late = self.begins[rows] - min(self.begins[1:])
        return max(super().interval_of(rows), self.arrangement.interval(rows) + late)
