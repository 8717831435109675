"""Plan of the matrix product of tiles with a dynamic number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from step.lowering.plans.matmul_plan import MatmulPlan
from step.lowering.plans.plan import Timing
from step.lowering.plans.rows import entry


@dataclass(frozen=True)
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

    @cached_property
    def initiation_interval(self) -> int:
        return max(self._intervals)

    @cached_property
    def latency(self) -> int:
        return max(self._latencies)

    def at(self, rows: Any) -> Timing:
        return Timing(entry(rows, self._intervals), entry(rows, self._latencies), streams=True)

    @cached_property
    def begins(self) -> tuple[int, ...]:
        """`begin_of` for each number of rows; none begin at once."""
        soonest = {rows: max(1, self.soonest(rows)) for rows in self._sizes}
        least = max(each + self.arrangement.interval(rows) - self._busy(rows) for rows, each in soonest.items())
        comes = self.operands[1].beats  # the lanes begin with a word
        return 0, *(max(each, min(least, comes)) for each in soonest.values())

    def begin_of(self, rows: Any) -> Any:
        return entry(rows, self.begins)

    def interval_of(self, rows: int) -> int:
        late = self.begins[rows] - min(self.begins[1:])
        return max(self._busy(rows), self.arrangement.interval(rows) + late)

    def _busy(self, rows: int) -> int:
        """Cycles for which a product keeps links or lanes."""
        return max(self.loads(rows), self.arrangement.interval(rows), 1 if self.reduce else self.result.words_at(rows))

    @property
    def turns(self) -> tuple[int, int]:
        shape = self.arrangement
        most = max(max(shape.turns(rows)) for rows in self._sizes)
        if shape.products > 1:
            return most, most
        return max(shape.col_blocks, shape.least), most

    @property
    def sums(self) -> int:
        """See `MatmulPlan`."""
        shape = self.arrangement
        if self.reduce:
            return shape.blocks
        return max(max(shape.heights(rows)) for rows in self._sizes) * shape.col_blocks * shape.products

    @cached_property
    def deep_operands(self) -> tuple[bool, bool]:
        (_, left), (_, right) = self.banks
        copies = self._copies_beside((False, False))
        return left * copies[0] > self.deep, right * copies[1] > self.deep

    @cached_property
    def copies(self) -> tuple[int, int]:
        return self._copies_beside(self.deep_operands)

    @cached_property
    def results(self) -> int:
        late = max(
            self.latency_of(rows) - max(0, self._intervals[rows] - self.result.words_at(rows)) for rows in self._sizes
        )
        first = min(int((self.complete(rows) - self.leaves(rows)[1]).min()) for rows in self._sizes)
        stays = (max(self.latency_of(rows), late) - first - self._intervals[rows] for rows in self._sizes)
        return self._beside(max(stays))

    @property
    def _sizes(self) -> range:
        return range(1, self.arrangement.rows + 1)

    @cached_property
    def _intervals(self) -> tuple[int, ...]:
        return 1, *map(self.interval_of, self._sizes)

    @cached_property
    def _latencies(self) -> tuple[int, ...]:
        return 1, *map(self.latency_of, self._sizes)

    def _copies_beside(self, deep: tuple[bool, bool]) -> tuple[int, int]:
        """Elements of each operand that are there at a time (see `MatmulPlan`)."""
        stays = [[0], [0]]
        for rows in self._sizes:
            for port, ((first, _), _, read) in enumerate(self.uses(rows)):
                begin = self.begins[rows] + self.arrangement.waits
                stays[port].append(begin + int((read - first).max()) + deep[port] - self._intervals[rows])
        left, right = (self._beside(max(each)) for each in stays)
        return left, right

    def _beside(self, longer: int) -> int:
        """Elements in a store, of which one stays so much ``longer`` than its interval."""
        return 1 + max(0, -(-longer // min(self._intervals[1:])))
