"""Plan of functions that treat every scalar of a tile alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from step.language.dtypes import BF16, STORED
from step.language.function import Function
from step.lowering.plans.plan import Application, Timing
from step.lowering.plans.rows import largest, parts
from step.lowering.plans.words import Schedule, Words


def vector_plan(application: Application, *, cycles: int) -> VectorPlan:
    """The plan of a function whose lanes take ``cycles``, on at most `vector_lanes` of them."""
    fabric = application.fabric
    operands = tuple(map(application.words, range(len(application.inputs))))
    return VectorPlan(
        operands, application.words(-1), fabric.vector_lanes, cycles, application.reduce, application.dynamic
    )


def plan_by_stages(cycles: Callable[[int], int]) -> Callable[[Function, Application], VectorPlan]:
    """The ``plan`` of functions whose lanes take these ``cycles`` for the stages of a fabric, and those to round."""

    def plan(function: Function, application: Application) -> VectorPlan:
        return vector_plan(application, cycles=cycles(application.fabric.stages) + rounding(application))

    return plan


@dataclass(frozen=True)
class VectorPlan:
    """Scalars go through lanes, a *group* in a cycle; words are made of whole groups.

    Where groups are the words of an operand, these go straight to the registers in front of the lanes; where words have
    more scalars, or come before they are wanted, they wait in a store, and one cycle longer. Groups that are no words
    of the result are put together likewise. Operands with one row or fewer columns are repeated.

    Of at most ``most`` lanes the fewest are taken that reach the shortest interval. A lane takes ``cycles``, its
    operands' registers counted. A reduction wants its state back before the next element, and always stores it, as it
    may be wanted without an element.

    ``dynamic``: tiles may have fewer rows, on the same lanes. The groups of their rows come as those of a tile with the
    most rows do; the first word of the result waits for the last group that it needs to leave without a gap.
    """

    operands: tuple[Words, ...]
    result: Words
    most: int
    cycles: int
    reduce: bool
    dynamic: bool = False

    streams = True

    @cached_property
    def initiation_interval(self) -> int:
        words = max(each.beats for each in self._ports)
        return max(words, -(-self.result.scalars // self._possible[-1]), self.cycles if self.reduce else 1)

    @cached_property
    def latency(self) -> int:
        return self.gathering + self.cycles + self.waiting

    def at(self, rows: Any) -> Timing:
        """The cycles with so many ``rows``."""
        groups = self.groups_of(rows)
        words = parts(rows, self.result.cols * self.result.dtype.bits, self.result.link_bits)
        fixed = (each.beats for each in self.operands if each.rows == 1)
        interval = largest(1, groups, *fixed, self.cycles if self.reduce else 1)
        waiting = 0 if self.leaves_at_once else 1 + groups - words
        return Timing(interval, self.gathering + self.cycles + waiting, streams=True)

    def groups_of(self, rows: Any) -> Any:
        """Groups of a tile with so many ``rows``."""
        return parts(rows, self.result.cols, self.lanes)

    @cached_property
    def lanes(self) -> int:
        """Scalars of a group."""
        return next(each for each in self._possible if -(-self.result.scalars // each) <= self.initiation_interval)

    @cached_property
    def groups(self) -> int:
        return -(-self.result.scalars // self.lanes)

    @cached_property
    def gathering(self) -> int:
        """Cycles from the first word of the operands to the first group."""
        return max(0 if each is None else each.lag for each in map(self.uses, self.operands))

    @cached_property
    def waiting(self) -> int:
        """Cycles from the first group of the result to its first word."""
        return 0 if self.leaves_at_once else self.leaving.lag

    def repeats(self, operand: Words) -> bool:
        """Whether ``operand`` has one row, or a column, for several of the result."""
        return operand.scalars < self.result.scalars

    def uses(self, operand: Words) -> Schedule | None:
        """The words of ``operand`` that each group needs; None where the word that comes is the group."""
        if operand.beats == self.groups and (self.groups == 1 or not self.repeats(operand)):
            return None
        return Schedule(tuple(operand.words_of(*self._ends(operand, group)) for group in range(self.groups)))

    @property
    def leaves_at_once(self) -> bool:
        """Groups are words of the result, and leave as such."""
        return not self.reduce and self.result.beats == self.groups

    @property
    def leaving(self) -> Schedule:
        """The groups that each word of the result needs."""
        bits, link = self.lanes * self.result.dtype.bits, self.result.link_bits
        ends = (min((word + 1) * link, self.result.bits) for word in range(self.result.beats))
        return Schedule(tuple((word * link // bits, (end - 1) // bits) for word, end in enumerate(ends)))

    @property
    def narrow(self) -> bool:
        """A scalar is several words of some port; then groups wait for more than `at` says."""
        return any(each.link_bits < each.dtype.bits for each in self._ports)

    @property
    def _ports(self) -> tuple[Words, ...]:
        return *self.operands, self.result

    @cached_property
    def _possible(self) -> list[int]:
        """Numbers of lanes with which the words of all ports are made of whole groups."""
        common = math.gcd(*(max(1, each.link_bits // each.dtype.bits) for each in self._ports if each.beats > 1))
        found = [each for each in range(1, min(self.most, self.result.scalars) + 1) if common % each == 0]
        return [each for each in found if each & (each - 1) == 0] if self.dynamic else found

    def _ends(self, operand: Words, group: int) -> tuple[int, int]:
        """The first and the last scalar of ``operand`` in a group, which may have several rows of it."""
        cols, last = self.result.cols, min((group + 1) * self.lanes, self.result.scalars) - 1
        (top, left), (bottom, right) = divmod(group * self.lanes, cols), divmod(last, cols)
        if operand.rows == 1 and bottom > top:
            left, right = 0, cols - 1
        if operand.rows == 1:
            top = bottom = 0
        left, right = (each * operand.cols // cols for each in (left, right))
        return top * operand.cols + left, bottom * operand.cols + right


def rounding(application: Application) -> int:
    """Cycles to round an FP32 result to the format that is wanted."""
    return int(application.words(-1).dtype in (BF16, *STORED))
