"""Plan of functions that treat every scalar of a tile alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from step.language.dtypes import BF16, STORED, DType
from step.language.function import Function
from step.lowering.plans.parts import Circuit, Memory, Part, Parts, Store, computation
from step.lowering.plans.plan import Application, DatapathPlan, Timing
from step.lowering.plans.rows import largest, parts
from step.lowering.plans.words import Schedule, Words


@dataclass(frozen=True)
class Lane:
    """A part of a datapath: ``function`` of one scalar of each operand, of ``formats``; the result is one of ``out``.

    It takes ``cycles``, the registers in front of it counted; ``stages``: those of `FabricConfig`. A reduction's first
    operand is its state. ``computes`` names every `computation` in it.
    """

    function: Function
    formats: tuple[DType, ...]
    out: DType
    stages: int
    cycles: int
    computes: tuple[str, ...]


def vector_plan(
    function: Function,
    application: Application,
    *,
    cycles: int,
    operands: Sequence[Words] = (),
    computes: tuple[str, ...] | None = None,
) -> VectorPlan:
    """The plan of ``function``, whose lanes take ``cycles``, on at most `vector_lanes` of them.

    Of those the fewest are taken that reach the shortest interval. ``operands``: where they are others than those of
    the application. ``computes``: every `computation` in a lane, by default one of its own name, and one that rounds.
    """
    operands = tuple(operands) or tuple(map(application.words, range(len(application.inputs))))
    fabric, result, dynamic = application.fabric, application.words(-1), application.dynamic
    ports, scalars, state = (*operands, result), result.scalars, (result.dtype,) if application.reduce else ()
    # words of all ports are made of whole groups
    common = math.gcd(*(max(1, each.link_bits // each.dtype.bits) for each in ports if each.words > 1))
    possible = [each for each in range(1, min(fabric.vector_lanes, scalars) + 1) if common % each == 0]
    possible = [each for each in possible if each & (each - 1) == 0 or not dynamic]
    interval = max(*(each.words for each in ports), -(-scalars // possible[-1]), cycles if application.reduce else 1)
    lanes = next(each for each in possible if -(-scalars // each) <= interval)
    formats = *state, *(each.dtype for each in operands)
    if computes is None:
        computes = computation(function.name, *formats), *rounded(application)
    lane = Lane(function, formats, result.dtype, fabric.stages, cycles, computes)
    return VectorPlan(lane, operands, result, lanes, application.reduce, result.rows if dynamic else 0)


def tabulated(cycles: Callable[[int], int], stages: int, products: int, joined: int = 0) -> int:
    """Cycles of arithmetic with a table: as many as ``cycles`` says of up to four ``stages``; with more of these one
    more, in the middle of its rounding. With six those steps have cycles of their own that are ``joined`` before, with
    seven each of its ``products`` takes one more, and with eight its rounding does."""
    return cycles(min(stages, 4)) + (stages > 4) + joined * (stages > 5) + products * (stages > 6) + (stages > 7)


def plan_by_stages(
    cycles: Callable[[int], int], products: int, joined: int = 0
) -> Callable[[Function, Application], VectorPlan]:
    """The ``plan`` of functions whose lanes are `tabulated`, and take these ``cycles`` and those to round."""

    def plan(function: Function, application: Application) -> VectorPlan:
        found = tabulated(cycles, application.fabric.stages, products, joined)
        return vector_plan(function, application, cycles=found + rounding(application))

    return plan


@dataclass(frozen=True)
class VectorPlan(DatapathPlan):
    """Scalars go through ``lanes``, a *group* in a cycle; words are made of whole groups.

    Where groups are the words of an operand, these go straight to the registers in front of the lanes; where words have
    more scalars, or come before they are wanted, they wait in a store, and one cycle longer. Groups that are no words
    of the result are put together likewise. Operands with one row or fewer columns are repeated.

    A reduction wants its state back before the next element, and always stores it, as it may be wanted without an
    element.

    Tiles may have fewer rows, on the same lanes. The groups of their rows come as those of a tile with the most rows
    do; the first word of the result waits for the last group that it needs to leave without a gap.
    """

    lane: Lane
    operands: tuple[Words, ...]
    result: Words
    lanes: int
    reduce: bool
    most_rows: int

    @property
    def parts(self) -> Iterable[Part]:
        """Lanes, stores of words that wait to become groups, and of groups that become words."""
        yield Circuit("vector")
        yield from (Circuit(each, self.lanes) for each in self.lane.computes)
        yield from filter(None, (*map(self.store, self.operands), self.result_store))
        if self.reduce:
            yield Memory(self.lanes * self.result.dtype.bits, self.groups)

    def at(self, rows: Any) -> Timing:
        groups, words = self.groups_of(rows), self.result.words_at(rows)
        fixed = (each.words for each in (*self.operands, self.result) if each.rows == 1 or not self.takes_rows)
        interval = largest(1, groups, *fixed, self.lane.cycles if self.reduce else 1)
        more = groups - words if self.takes_rows else max(0, groups - words)
        waiting = 0 if self.leaves_at_once else 1 + more
        return Timing(interval, self.gathering + self.lane.cycles + waiting, streams=True)

    def groups_of(self, rows: Any) -> Any:
        """Groups of a tile with so many ``rows``."""
        return parts(rows, self.result.cols, self.lanes)

    @cached_property
    def groups(self) -> int:
        return -(-self.result.scalars // self.lanes)

    @cached_property
    def gathering(self) -> int:
        """Cycles from the first word of the operands to the first group."""
        return max(0 if each is None else each.lag for each in map(self._uses, self.operands))

    @property
    def waiting(self) -> int:
        """Cycles from the first group of the result to its first word."""
        return self.latency - self.gathering - self.lane.cycles

    def store(self, operand: Words) -> Store | None:
        """The store of words of ``operand``; None where the word that comes is the group."""
        uses = self._uses(operand)
        if uses is None and self.gathering <= 1:
            return None
        schedule = uses or Schedule(tuple((at, at) for at in range(self.groups)))
        copies = schedule.copies(self.gathering, self.initiation_interval)
        if self.most_rows:  # tiles of one row follow each other at once
            copies = 1 if self.gathering == 1 else 2
        groups = 1 if operand.scalars == 1 else self.groups  # all alike, where one scalar is repeated
        return Store(operand.parts, Parts(groups, self.lanes * operand.dtype.bits), copies, self._repeats(operand))

    @property
    def result_store(self) -> Store | None:
        """The store of groups of the result; a word leaves before the next element's groups come to its place.

        A state that leaves late, without an element, may meet a new reduction; that goes into another copy, unless its
        groups come no earlier than the words of the old one leave. One of dynamic size never does: whoever lets it
        leave is busy for its groups.
        """
        groups = Parts(self.groups, self.lanes * self.result.dtype.bits)
        copies = 2 if self.reduce and self.result.words != self.groups and not self.most_rows else 1
        return None if self.leaves_at_once else Store(groups, self.result.parts, copies)

    @property
    def leaves_at_once(self) -> bool:
        """Groups are words of the result, and leave as such."""
        return not self.reduce and self.result.words == self.groups

    @property
    def takes_rows(self) -> bool:  # type: ignore[override]
        """No scalar is several words of some port; else groups wait for more than `at` says."""
        return all(each.link_bits >= each.dtype.bits for each in (*self.operands, self.result))

    def _repeats(self, operand: Words) -> bool:
        """Whether ``operand`` has one row, or a column, for several of the result."""
        return operand.scalars < self.result.scalars

    def _uses(self, operand: Words) -> Schedule | None:
        """The words of ``operand`` that each group needs; None where the word that comes is the group."""
        if operand.words == self.groups and (self.groups == 1 or not self._repeats(operand)):
            return None
        return Schedule(tuple(operand.words_of(*self._ends(operand, group)) for group in range(self.groups)))

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


def rounded(application: Application) -> tuple[str, ...]:
    """The `computation` that does it, if there is one."""
    return (computation("round", application.words(-1).dtype),) * rounding(application)
