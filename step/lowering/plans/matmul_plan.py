"""When a matrix product works on what, and what it stores meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from step.lowering.plans.blocks import Arrangement, adders, banks_of, bits_of_sums, memory_of
from step.lowering.plans.parts import Circuit, Memory, Part, computation
from step.lowering.plans.plan import DatapathPlan, Timing
from step.lowering.plans.rows import entry, largest
from step.lowering.plans.words import INT4, Words

SHIFTED = 4
"""Words of a result up to which it waits in shift registers: LUT RAM has 16 places, and takes more LUTs than these."""

DEEP = 64
"""Places of a memory up to which it is LUT RAM: with more of them block RAM is the smaller part of a device."""


@dataclass(frozen=True)
class MatmulPlan(DatapathPlan):
    """While a product is computed, the operands of the next one come in, and the last result leaves (that of a
    reduction only if it is due).

    The lanes begin as soon as they need no longer pause for a word, and the words of the result begin to leave as soon
    as none of them has to wait for a sum. Behind the turn of a block for the last k come its ``product``, and its sum,
    which is rounded in ``rounds`` cycles. Memories of more than ``deep`` places are block RAM.

    A lane takes the products of ``terms`` k in a cycle, a *step* of the arrangement; behind the last k are zeros.

    Where left operands may have fewer rows than the arrangement (``fewer``), one with few rows has short turns, so it
    must begin later, when more words of the right operand are there. Products do not meet on the lanes: one that begins
    late keeps the next one waiting for so much longer as this may begin sooner. So none begins sooner than the others
    need, as long as words of the right operand come. A result may wait for the words of the one before it. Stores have
    room for the worst order of sizes. Where products share a turn each has the slot of one with all rows. One that is
    ``modelled`` has hardware for simulation alone.
    """

    arrangement: Arrangement
    operands: tuple[Words, Words]
    result: Words
    transposed: bool
    product: int
    rounds: int
    reduce: bool
    terms: int = 1
    deep: int = DEEP
    fewer: bool = False
    modelled: bool = False

    most_rows = property(lambda self: self.arrangement.rows if self.fewer else 0)

    sum_bits = property(lambda self: bits_of_sums(*self.operands, reduce=self.reduce))
    lanes = property(lambda self: self.arrangement.lanes * self.terms)
    neighbours = property(lambda self: 2 if self.operands[1].dtype is INT4 else 1)
    """Lanes of one row that share a multiplier: two of INT4."""

    @property
    def parts(self) -> Iterable[Part]:
        """Lanes, the stores of operands in front of them, sums, and the store of the result."""
        shape, dtype = self.arrangement, self.operands[1].dtype
        multipliers = -(-shape.block_cols // self.neighbours) * shape.block_rows * self.terms
        yield Circuit(computation("fused_products" if self.terms > 1 else "multiply", dtype), multipliers)
        yield adders(dtype, shape.lanes, self.sum_bits)
        yield Circuit(computation("round", self.result.dtype), shape.lanes * self.rounds)
        yield Circuit("matmul", amounts={"reduce": self.reduce, "dynamic": self.fewer})
        for port, operand in enumerate(self.operands):
            if self.assembled[port]:
                yield Circuit("matmul.assembled_bits", operand.bits)
                continue
            ports = self.terms * (shape.block_cols if port else shape.block_rows)
            yield memory_of(operand, self.banks[port], self.copies[port], ports, deep=self.deep_operands[port])
        if self.reduce or (shape.inner > 1 and self.turns[1] != shape.stages):
            yield Memory(self.sum_bits * shape.lanes, self.sums, deep=self.deep_sums)
            yield Circuit("matmul.kept_sums", self.sum_bits * shape.lanes)
        if self.shifts:
            yield Circuit("matmul.shifted_bits", self.result.bits)
        else:
            per_word = self.result.word_bits // min(self.result.dtype.bits, self.result.word_bits)
            yield memory_of(self.result, self.result_banks, self.results, per_word, deep=self.deep_results)

    @property
    def sizes(self) -> range:
        """The numbers of rows that there may be."""
        return range(1 if self.fewer else self.arrangement.rows, self.arrangement.rows + 1)

    @cached_property
    def initiation_interval(self) -> int:
        return max(self._intervals)

    @cached_property
    def latency(self) -> int:
        return max(self._latencies)

    def at(self, rows: Any) -> Timing:
        return Timing(entry(rows, self._intervals), entry(rows, self._latencies), streams=True)

    @cached_property
    def _intervals(self) -> tuple[int, ...]:
        """`interval_of` for each number of rows; 1 of those that there can not be."""
        return (1,) * self.sizes.start + tuple(map(self.interval_of, self.sizes))

    @cached_property
    def _latencies(self) -> tuple[int, ...]:
        return (1,) * self.sizes.start + tuple(map(self.latency_of, self.sizes))

    def interval_of(self, rows: int) -> int:
        """Cycles from the start of a product of so many ``rows`` to the next one."""
        late = self.begins[rows] - min(self.begins[1:]) if self.fewer else 0
        return max(self._busy(rows), self.arrangement.interval(rows) + late)

    def _busy(self, rows: int) -> int:
        """The same of products that all begin alike."""
        leaves = 1 if self.reduce else self.result.words_at(rows)
        return max(self.loads(rows), self.arrangement.interval(rows), leaves)

    def latency_of(self, rows: int) -> int:
        """Cycles from the start of a product of so many ``rows`` to the first word of its result.

        That is there when all words of the operands came, and in shift registers all sums are.
        """
        complete = self.complete(rows)
        ready = complete.max() if self.shifts else (complete - self.leaves(rows)[0]).max()
        return max(self.loads(rows), int(ready) + self.arrangement.waits + 1 + self.deep_results)

    def loads(self, rows: Any) -> Any:
        """Cycles in which the operands come."""
        left, right = self.operands
        return largest(left.words_at(rows), right.words)

    @property
    def depth(self) -> int:
        """Cycles from the addresses of a block's operands to its sums, in the format of the result."""
        return any(self.deep_operands) + self.product + self.arrangement.stages + self.rounds

    @cached_property
    def begin(self) -> int:
        """Cycles from the first words of the operands to the first block: every scalar came before it is read."""
        whole = [each.words for each, assembled in zip(self.operands, self.assembled, strict=True) if assembled]
        return max(self.soonest(self.arrangement.rows), 1, *whole)

    @cached_property
    def begins(self) -> tuple[int, ...]:
        """The same for each number of rows, where there may be fewer; none begin at once."""
        soonest = {rows: max(1, self.soonest(rows)) for rows in self.sizes}
        least = max(each + self.arrangement.interval(rows) - self._busy(rows) for rows, each in soonest.items())
        comes = self.operands[1].words  # the lanes begin with a word
        return 0, *(max(each, min(least, comes)) for each in soonest.values())

    def begin_of(self, rows: Any) -> Any:
        """`begin` of a product of so many ``rows``."""
        return entry(rows, self.begins) if self.fewer else self.begin

    @cached_property
    def assembled(self) -> tuple[bool, bool]:
        """Whether an operand is put together in registers, and moves on to others when all of it came.

        Else it lies in banks, one for each way from a place of a word to a port of the lanes. A bit of LUT RAM takes
        one and a half LUTs, and every input of a multiplexer about one: of those there are as many as scalars in
        registers, or as banks. Two registers are counted as a LUT, as there are as many of both.
        """
        if self.fewer or self.arrangement.products > 1:
            return False, False
        ports = zip(self.operands, self.banks, self._copies(begin=self.soonest(self.arrangement.rows)), strict=True)
        left, right = (copies > 1 and 2 * each.scalars < 2.5 * banks for each, (banks, _), copies in ports)
        return left, right

    @cached_property
    def deep_operands(self) -> tuple[bool, bool]:
        """Whether the banks of an operand are in block RAM."""
        ports = zip(self.assembled, self.banks, self._copies(), strict=True)
        left, right = (not assembled and items * copies > self.deep for assembled, (_, items), copies in ports)
        return left, right

    @cached_property
    def deep_sums(self) -> bool:
        """Whether the sums are in block RAM, from which a state comes a cycle later."""
        return self.sums > self.deep and self.turns[0] > self.arrangement.stages

    @property
    def turns(self) -> tuple[int, int]:
        """Cycles of the shortest turn, and of the longest one."""
        turns = [turn for rows in self.sizes for turn in self.arrangement.turns(rows)]
        return min(turns), max(turns)

    @cached_property
    def deep_results(self) -> bool:
        """Whether results are in block RAM."""
        return not self.shifts and self.result_banks[1] * (3 if self.reduce else 1) > self.deep

    @property
    def sums(self) -> int:
        """Blocks of sums that wait for their next turn: of a group, or where a state is kept of all."""
        shape = self.arrangement
        if self.reduce:
            return shape.blocks
        return max(max(shape.heights(rows)) for rows in self.sizes) * shape.col_blocks * shape.products

    @cached_property
    def copies(self) -> tuple[int, int]:
        """Elements of each operand that lie side by side in banks."""
        return self._copies(self.deep_operands)

    @cached_property
    def results(self) -> int:
        """Results that lie side by side.

        A state of known size has left before any sum of the second one behind it is complete. It may leave later than
        its last element came; for that there is a third place. A result of any size may wait for the one before it.
        """
        if self.reduce and not self.fewer:
            return 3
        words = self.result.words_at
        late = max(self._latencies[rows] - max(0, self._intervals[rows] - words(rows)) for rows in self.sizes)
        first = min(int((self.complete(rows) - self.leaves(rows)[1]).min()) for rows in self.sizes)
        stays = (max(self._latencies[rows], late) - first - self._intervals[rows] for rows in self.sizes)
        return self._beside(max(stays))

    @cached_property
    def shifts(self) -> bool:
        """Whether the result waits in shift registers, which it leaves before a sum of the next one comes."""
        if self.fewer or self.reduce or self.result.words > SHIFTED:
            return False
        complete = self.complete(self.arrangement.rows)
        taken = complete.max() - complete.min() + self.arrangement.waits + self.result.words
        return bool(taken <= self.initiation_interval)

    def soonest(self, rows: int) -> int:
        """When the first block may begin, for scalars in banks."""
        return 1 + max(0, *(int((last - read).max()) for (_, last), read, _ in self.uses(rows)))

    def _copies(self, deep: tuple[bool, bool] = (False, False), begin: int | None = None) -> tuple[int, int]:
        """Elements of each operand that are there at a time; the lanes ``begin`` as they do, unless it is given.

        A word may come when its place is read the last time; in block RAM a cycle later.
        """
        stays: list[list[int]] = [[], []]
        for rows in self.sizes:
            waits = (self.begin_of(rows) if begin is None else begin) + self.arrangement.waits - self._intervals[rows]
            for port, ((first, _), _, read) in enumerate(self.uses(rows)):
                stays[port].append(waits + int((read - first).max()) + deep[port])
        return self._beside(max(stays[0])), self._beside(max(stays[1]))

    def _beside(self, longer: int) -> int:
        """Elements in a store, of which one stays so much ``longer`` than its interval."""
        return 1 + max(0, -(-longer // min(self._intervals[self.sizes.start :])))

    # Cycles of scalars are linear in their place but for rounding, and a step of the one is never less than one of the
    # other and greater elsewhere: so the scalars at the ends of a block, or of all k, are the earliest and the latest.

    def complete(self, rows: int) -> np.ndarray:
        """For each row of the result and its first and last block, when its sums are there, if it waits for no slot."""
        shape = self.arrangement
        at, turn = shape.schedule(rows)
        last = (at + (shape.inner - 1) * turn)[np.arange(rows) // shape.block_rows]
        return self.begin_of(rows) + self.depth + last[:, None] + np.array([0, shape.col_blocks - 1])

    def leaves(self, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """For each of these blocks of a row the words of its first and of its last scalar."""
        shape = self.arrangement
        start = np.array([0, shape.col_blocks - 1]) * shape.block_cols
        end = np.minimum(start + shape.block_cols, shape.cols) - 1
        place = np.arange(rows)[:, None] * shape.cols
        return self.result.words_of(place + start, place + end)

    def uses(self, rows: int) -> Iterator[tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]]:
        """For each operand the words of the scalars of a step, and their first and last use, in cycles behind the first
        block: of all rows of the left one and all columns of the right one, for the first and the last steps."""
        shape, inner = self.arrangement, self.operands[0].cols
        at, turn = shape.schedule(rows)
        step = np.array([0, max(0, shape.inner - 2), shape.inner - 1])  # the last one may have fewer k than the others
        k, last_k = step * self.terms, np.minimum((step + 1) * self.terms, inner) - 1
        of_row = np.arange(rows) // shape.block_rows
        read = at[of_row][:, None] + step * turn[of_row][:, None]
        place = np.arange(rows)[:, None] * inner
        left, right = self.operands
        yield left.words_of(place + k, place + last_k), read, read + shape.col_blocks - 1
        col = np.arange(shape.cols)
        first, last = (at[end] + step[:, None] * turn[end] + col // shape.block_cols for end in (0, -1))
        k, last_k = k[:, None], last_k[:, None]
        places = [col * inner + each if self.transposed else each * shape.cols + col for each in (k, last_k)]
        yield right.words_of(*places), first, last

    @cached_property
    def banks(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """For each operand the number of its banks, and of scalars in one at most."""
        shape = self.arrangement
        left, right = self.operands
        across = (shape.block_cols, self.terms) if self.transposed else (self.terms, shape.block_cols)
        return banks_of(left, shape.block_rows, self.terms), banks_of(right, *across)

    @property
    def result_banks(self) -> tuple[int, int]:
        """The same of the result."""
        return banks_of(self.result, self.arrangement.block_rows, self.arrangement.block_cols)
