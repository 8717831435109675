"""Map's control: what comes out is of the values in front, with their stop; a fault where inputs do not agree."""

from __future__ import annotations

from functools import reduce
from operator import xor
from typing import Any

import pytest
from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal, Value
from refuting import check, check_rule, proofs, some_or_all_mutants
from unit_bench import Registered, UnitBench, applied, bare, control, words

from hw.firing.unit import Unit
from hw.functions.datapath import Datapath
from hw.links.layout import TokenFormat
from hw.rules import applying
from hw.rules import unit as units
from step.firing.machine import Machine
from step.functions.select import SelectAll
from step.language.faults import Fault
from step.rules.map import Map

pytestmark = pytest.mark.large

MUTANTS = [
    ("word: Value = datapath.result", "word: Value = datapath.operand0"),
    ("gathers, (firing.fires & self._value, 1)", "gathers, (firing.fires & ~self._value, 1)"),
    ("last = gathers & (phase == final)", "last = gathers & (phase == 0)"),
]


def parity(operand: Value, width: int) -> Value:
    """The exclusive or of the parts of ``operand`` that are ``width`` bits wide; of a narrower one that of its bits."""
    parts = [operand[at : at + width] for at in range(0, len(operand), width)]
    return reduce(xor, parts) if len(operand) >= width else operand.xor()


class Parity(Datapath):
    """A function of all operands, and of all of their words: their exclusive or."""

    def __init__(self, operands: tuple[TokenFormat, ...], result: TokenFormat, *, streams: bool) -> None:
        widths = [each.word_bits if streams else each.bits for each in operands]
        width = result.word_bits if streams else result.bits
        super().__init__(Registered(SelectAll(1), tuple(widths), width, False, streams))
        self.count = len(operands)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operands = [getattr(self, f"operand{port}") for port in range(self.count)]
        with m.If(self.start | self.streams):
            m.d.sync += self.result.eq(reduce(xor, (parity(each, len(self.result)) for each in operands)))
        return m


class Mapped(UnitBench):
    """What comes out is what was expected of it when its claim was made, `Rule.latency` cycles ago."""

    @property
    def patience(self) -> int:
        return self.rule.initiation_interval - 1

    def expected(self, m: Module, size: int) -> Value:
        """What becomes of the values in front, in so many words."""
        given = [
            front.control if each.control else self.words[port]
            for port, (front, each) in enumerate(zip(self.fronts, self.rule.inputs, strict=True))
            if each.items
        ]
        return reduce(xor, (parity(each, size) for each in given), Const(0))

    def check(self, m: Module, unit: Unit) -> None:
        rule, (first, *others) = self.rule, self.fronts
        agree: Value = Const(1)
        for each in others:
            same = [getattr(each, name) == getattr(first, name) for name in ("done", "value", "stop", "rank")]
            agree = agree & Cat(*same).all()
        inside: Value = Const(1)
        for port, bound in self.given.get("bounds", ()):
            inside = inside & (~first.value | (self.fronts[port].control < bound))
        for port, count in self.given.get("counts", ()):
            chosen = sum(self.fronts[port].control, Const(0))
            inside = inside & (~first.value | (chosen == count))
        size, value = max(1, rule.result.words), Signal(max(1, rule.result.words))
        m.d.comb += value.eq(self.expected(m, size))
        fault = Mux(agree, Mux(inside, 0, Fault.OUT_OF_RANGE), Fault.STOPS_DISAGREE)
        takes, there = Cat(*self.takes), Cat(*self.visible).all()
        m.d.comb += [
            Assert(~takes.any() | (takes.all() & there & (fault == 0))),
            Assert(unit.output0.claim == takes.all()),
            Assert((unit.fault == 0) | (there & (unit.fault == fault))),
        ]
        self.follows(m, takes.all(), first.done, first.value, first.stop, first.rank, value)


def mapped(
    machine: type[Machine],
    operands: tuple[TokenFormat, ...],
    result: TokenFormat,
    module: Any = units,
    *,
    streams: bool = False,
    bound: int = 0,
) -> Mapped:
    """The last operand is an index below ``bound``, if there is one."""
    bounds = ((len(operands) - 1, bound),) if bound else ()
    datapath = Parity(operands, result, streams=streams) if result.items else None
    return Mapped(applied(machine, operands, result, datapath, module, bounds=bounds, counts=()))


@proofs(
    ("operands", "result", "streams", "bound", "mutants"),
    [
        ((words(1, 2), words(1, 2)), words(1, 2), False, 0, MUTANTS),
        ((words(1, 2), words(1, 2)), words(1, 2), True, 0, []),
        ((words(1, 1),), words(1, 1), False, 0, []),
        ((words(1, 2),), words(1, 1), False, 0, []),
        ((words(1, 1), control(1, 2)), words(1, 1), False, 3, []),
        ((words(0, 2),), control(0), False, 0, []),
        ((bare(2), bare(2)), bare(2), False, 0, []),
    ],
)
def test_results_are_of_what_stands_in_front(
    operands: tuple[TokenFormat, ...], result: TokenFormat, streams: bool, bound: int, mutants: list[tuple[str, str]]
) -> None:
    def bench(module: Any) -> Mapped:
        return mapped(Map, operands, result, module, streams=streams, bound=bound)

    check(units, bench, mutants, [applying])


@some_or_all_mutants
def test_mutants(thorough: bool) -> None:
    operands = words(1, 1), control(1, 2), control(1, 3)

    def bench(machine: type[Machine]) -> Mapped:
        datapath = Parity(operands, operands[0], streams=False)
        return Mapped(applied(machine, operands, operands[0], datapath, bounds=((1, 3),), counts=((2, 2),)))

    check_rule(Map, bench, thorough=thorough)
