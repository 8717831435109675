"""Accum's control: one result per reduction, of all its values and no others, with the stop that is left."""

from __future__ import annotations

from functools import reduce
from operator import xor
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, Const, Module, Mux, Signal, Value
from refuting import Mutants, check, check_rule, proofs, some_or_all_mutants
from unit_bench import Registered, UnitBench, applied, words

from hw.firing import machine as skeleton
from hw.firing import mechanism
from hw.firing.unit import Unit
from hw.functions.datapath import Datapath
from hw.links.layout import TokenFormat
from hw.rules import applying
from hw.rules import unit as units
from step.firing.machine import Machine
from step.functions.select import SelectAll
from step.language.faults import Fault
from step.language.reduction import Distinct
from step.rules.accum import Accum

pytestmark = pytest.mark.large

MUTANTS = [
    ("state = Mux(firing.delayed(first), state, held(", "state = Mux(0, state, held("),
    ("return Mux(arrives, result, state)", "return result"),
    ("arrives = firing.delayed(firing.fired(self._value))", "arrives = firing.delayed(firing.fires & self._value)"),
]
RESERVE = (
    'firing.reserve(port, when=self._made(executed.flag("reserve", port)), cycles=rule.pace(self._state_rows).burst)'
)
STREAMED = [
    ("datapath.first.eq(first)", "datapath.first.eq(0)"),
    ("firing.fired(self._emits))\n        word", "firing.fired(self._value))\n        word"),
    ("word: Value = datapath.result", "word: Value = datapath.operand0"),
]
WIDENED = [(RESERVE, "pass")]
SKELETON = [
    ("cycles)[1] | ~self._puts[port])", "cycles)[1] | self._puts[port])"),
    ("channel.valid.eq(self.delayed(claim))", "channel.valid.eq(claim)"),
    ("else self.delayed(self._headers[port][name])", "else self._headers[port][name]"),
]
ROWS = (
    "19:11 self.kept >= 0 -> self.kept > 0",
    "21:15 not self.begins and height != rows_of(before) -> not self.begins or height != rows_of(before)",
    "21:15 not self.begins -> self.begins",
    "21:35 height != rows_of(before) -> height == rows_of(before)",
    "22:16 fault(Fault.STOPS_DISAGREE) -> pass",
    "24:19 self.more if self.more else rows_of(x.value) -> self.more",
    "24:19 self.more if self.more else rows_of(x.value) -> rows_of(x.value)",
    "25:21 rows_of(before) + more -> rows_of(before) - more",
    "26:11 height > self.most_rows -> height >= self.most_rows",
    "27:12 fault(Fault.TOO_MANY_ROWS) -> pass",
    "42:11 height > self.tallest -> height >= self.tallest",
    "43:12 self.tallest = height -> pass",
    "52:39 emits and self.kept >= 0 -> emits or self.kept >= 0",
    "52:49 self.kept >= 0 -> self.kept > 0",
)
"""What happens to states of dynamic size alone."""
UNCHANGED = {
    **dict.fromkeys(ROWS, "the state has a static size"),
    "38:4 self.seen = 0 if ends else seen -> pass": "no index is to differ",
    "38:16 0 if ends else seen -> 0": "no index is to differ",
    "38:16 0 if ends else seen -> seen": "no index is to differ",
    "10:17 self.promised >= 0 -> self.promised > 0": "a number is promised",
    "16:64 not x.has_value -> x.has_value": "it is of a reduction of one dimension",
    "46:11 self.burst > 1 -> self.burst >= 1": "the output is busy for a cycle at least",
    "52:11 COMPUTES if x.has_value or (emits and self.kept >= 0) else None -> COMPUTES": (
        "it waits for no longer than a value would take"
    ),
}
INITIAL = 1
"""The state of a reduction before its first value, in the place of one; only its lowest bit is set."""


def folded(operand: Value, width: int) -> Value:
    """The exclusive or of the parts of ``operand`` that are ``width`` bits wide, as often as it has them."""
    parts = [operand[at : at + width] for at in range(0, len(operand), width)]
    return reduce(xor, parts)


class Parity(Datapath):
    """A reduction whose result depends on every value, if in no other way: their exclusive or."""

    def __init__(self, operand: TokenFormat, result: TokenFormat) -> None:
        super().__init__(Registered(SelectAll(1), (operand.bits,), result.bits, True, False))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.start):
            m.d.sync += self.result.eq(folded(self.operand0, len(self.result)) ^ Mux(self.first, 0, self.result))
        return m


class StreamedParity(Datapath):
    """The same, word by word; what leaves is read from its store as long as it is there."""

    def __init__(self, format: TokenFormat) -> None:
        self.size = format.words
        super().__init__(Registered(SelectAll(1), (format.word_bits,), format.word_bits, True, True))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        store = Array(Signal(len(self.result), name=f"store{word}") for word in range(self.size))
        adds, add_place, first = self._burst(m, "adds", self.start)
        emits, emit_place, nothing = self._burst(m, "emits", self.emit, self.first & ~self.start)
        sum = self.operand0 ^ Mux(first, 0, store[add_place])
        with m.If(adds):
            m.d.sync += store[add_place].eq(sum)
        initial = Mux(emit_place == 0, INITIAL, 0)
        together = adds & (add_place == emit_place)
        with m.If(emits):
            m.d.sync += self.result.eq(Mux(nothing, initial, Mux(together, sum, store[emit_place])))
        return m

    def _burst(self, m: Module, name: str, begins: Value, first: Value | None = None) -> tuple[Value, Value, Value]:
        """Whether words pass since ``begins``, which, and ``first`` of then."""
        first = self.first if first is None else first
        next, was_first = Signal(range(self.size + 1), init=self.size, name=name), Signal(name=f"first_{name}")
        place = Signal(range(self.size), name=f"{name}_place")
        m.d.comb += place.eq(Mux(begins, 0, next))
        with m.If(begins):
            m.d.sync += [next.eq(1), was_first.eq(first)]
        with m.Elif(next != self.size):
            m.d.sync += next.eq(next + 1)
        return begins | (next != self.size), place, Mux(begins, first, was_first)


class Reduced(UnitBench):
    """What comes out is what was expected of it when its claim was made, `Rule.latency` cycles ago."""

    @property
    def patience(self) -> int:
        return max(self.rule.initiation_interval, self.rule.burst) - 1

    def check(self, m: Module, unit: Unit) -> None:
        (front,), (take,), rank = self.fronts, self.takes, self.given["rank"]
        size = self.rule.result.words
        some, parity, value = Signal(), Signal(size), Signal(size)  # of the values that this reduction had before
        ends, outside = front.stop >= rank, front.rank > rank
        added = folded(self.words[0], size) ^ Mux(some, parity, 0)
        m.d.comb += value.eq(Mux(front.value, added, Mux(some, parity, INITIAL)))
        with m.If(take & (ends | front.value)):
            m.d.sync += [some.eq(~ends), parity.eq(value)]
        claim = unit.output0.claim
        m.d.comb += Assert(claim == (take & (ends | front.done)))
        stop, left = Mux(front.done, 0, front.stop - rank), Mux(outside, front.rank - rank, 0)
        self.follows(m, claim, front.done, ~front.done & ~outside, stop, left, value)
        count, counted = Signal(range(4)), Signal(range(4))  # values so far; as many as matter
        m.d.comb += counted.eq(Mux(front.value & (count != 3), count + 1, count))
        with m.If(take):
            m.d.sync += count.eq(Mux(ends, 0, counted))
        promised = self.given.get("promised", -1)
        wrong = self.visible[0] & ends & ~outside & (counted != promised) if promised >= 0 else Const(0)
        m.d.comb += [Assert((unit.fault == 0) | wrong & (unit.fault == Fault.WRONG_COUNT)), Assert(~(take & wrong))]


def reduction(
    machine: type[Machine],
    operand: TokenFormat,
    size: int,
    rank: int,
    module: Any = units,
    *,
    streams: bool = False,
    promised: int = -1,
) -> Any:
    result = words(operand.rank - rank, size)
    datapath = StreamedParity(operand) if streams else Parity(operand, result)
    given = {"rank": rank, "initial": INITIAL, "see": Distinct(0), "promised": promised}
    return applied(machine, [operand], result, datapath, module, stored=True, **given)


@proofs(
    ("operand", "size", "rank", "mutants"),
    [
        (words(3, 2), 2, 2, MUTANTS), (words(2, 2), 1, 1, []), (words(2, 1), 2, 1, WIDENED),
        (words(3, 1), 2, 2, WIDENED), (words(1, 1), 1, 1, []),
    ],
)  # fmt: skip
def test_every_reduction_has_its_result(operand: TokenFormat, size: int, rank: int, mutants: Mutants) -> None:
    check(units, lambda module: Reduced(reduction(Accum, operand, size, rank, module)), mutants, [applying])


@proofs(("size", "rank", "mutants"), [(2, 2, STREAMED), (3, 1, []), (1, 1, [])])
def test_words_that_stream_are_reduced(size: int, rank: int, mutants: list[tuple[str, str]]) -> None:
    def bench(module: Any) -> Reduced:
        return Reduced(reduction(Accum, words(rank + 1, size), size, rank, module, streams=True))

    check(units, bench, mutants, [applying])


@some_or_all_mutants
def test_mutants(thorough: bool) -> None:
    def bench(machine: type[Machine]) -> Reduced:
        return Reduced(reduction(machine, words(3, 2), 2, 2, promised=2))

    check_rule(Accum, bench, UNCHANGED, thorough=thorough)


@proofs(("mutants",), [(SKELETON,)])
def test_the_skeleton_keeps_the_output_for_the_words_of_a_result(mutants: list[tuple[str, str]]) -> None:
    check(skeleton, lambda module: Reduced(reduction(Accum, words(2, 1), 2, 1), module), mutants, [mechanism])
