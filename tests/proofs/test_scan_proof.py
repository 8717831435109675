"""Scan's control: the state after every value, or the one before it; stops begin a new reduction."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Module, Mux, Signal, Value
from refuting import check, check_rule, proofs, some_or_all_mutants
from test_accum_proof import INITIAL, Parity, StreamedParity
from test_map_proof import Mapped
from unit_bench import applied, bare, control, words

from hw.links.layout import TokenFormat
from hw.rules import applying
from hw.rules import unit as units
from step.firing.machine import Machine
from step.rules.scan import Scan

pytestmark = pytest.mark.large

MUTANTS = [("first = firing.latched(begins)", "first = begins")]
STREAMED = [("datapath.emit.eq(firing.fired(self._emits))", "datapath.emit.eq(0)")]
EXCLUSIVE = [
    ("Mux(Mux(comes, first, began), Array", "Mux(Mux(comes, first, 0), Array"),
    ('held(m, first, comes, "held")', 'held(m, first & 0, comes, "held")'),
    ("result.cycles, number, passes, word", "result.cycles, 0, passes, word"),
]
ROWS = "tiles have as many rows as each other"
ROWED = "rows_of(tokens[self.tiled[0]].value)"
UNCHANGED = {
    "5:14 x.has_value and (not self.begins) -> x.has_value or not self.begins": ROWS,
    "5:30 not self.begins -> self.begins": ROWS,
    f"6:34 {ROWED} != rows_of(self.state) -> {ROWED} == rows_of(self.state)": ROWS,
    "7:8 fault(Fault.STOPS_DISAGREE) -> pass": ROWS,
}


class Scanned(Mapped):
    """The states of a reduction; `INITIAL` is that before it, where the state before a value leaves."""

    def expected(self, m: Module, size: int) -> Value:
        (front,), (take,) = self.fronts, self.takes
        some, before, after = Signal(), Signal(size), Signal(size)  # of the values that this reduction had
        m.d.comb += after.eq(super().expected(m, size) ^ Mux(some, before, 0))
        ends = front.stop >= self.given["rank"]
        with m.If(take & (front.value | ends)):
            m.d.sync += some.eq(~ends)
        with m.If(take & front.value):
            m.d.sync += before.eq(after)
        return after if not self.given["exclusive"] else Mux(some, before, INITIAL)


def scanned(
    machine: type[Machine],
    operand: TokenFormat,
    result: TokenFormat,
    module: Any = units,
    *,
    streams: bool = False,
    **given: Any,
) -> Scanned:
    datapath = (StreamedParity(operand) if streams else Parity(operand, result)) if result.items else None
    return Scanned(applied(machine, [operand], result, datapath, module, initial=INITIAL, **given))


@proofs(
    ("operand", "result", "rank", "streams", "exclusive", "mutants"),
    [
        (words(2, 2), words(2, 2), 1, False, False, MUTANTS),
        (words(2, 1), words(2, 1), 2, False, False, []),
        (words(1, 2), words(1, 2), 1, True, False, STREAMED),
        (words(1, 2), words(1, 2), 1, False, True, EXCLUSIVE),
        (words(2, 1), words(2, 1), 1, True, True, []),
        (words(1, 2), control(1), 1, False, False, []),
        (bare(2), bare(2), 1, False, False, []),
    ],
)
def test_every_state_leaves(
    operand: TokenFormat, result: TokenFormat, rank: int, streams: bool, exclusive: bool, mutants: list[tuple[str, str]]
) -> None:
    def bench(module: Any) -> Scanned:
        return scanned(Scan, operand, result, module, rank=rank, streams=streams, exclusive=exclusive)

    check(units, bench, mutants, [applying])


@some_or_all_mutants
@pytest.mark.parametrize(("exclusive", "always"), [(False, "self.state"), (True, "before")])
def test_mutants(exclusive: bool, always: str, thorough: bool) -> None:
    def bench(machine: type[Machine]) -> Scanned:
        return scanned(machine, words(2, 2), words(2, 2), rank=2, exclusive=exclusive)

    unchanged = {**UNCHANGED, f"16:35 before if self.exclusive else self.state -> {always}": "it is what it is here"}
    check_rule(Scan, bench, unchanged, thorough=thorough)
