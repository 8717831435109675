"""Scan's control: the state after every value, or the one before it; stops begin a new reduction."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from refuting import check, proofs
from test_accum_proof import INITIAL, Parity, StreamedParity
from test_map_proof import Mapped
from unit_bench import bare, control, words

from hw.links.layout import TokenFormat
from hw.units import scan

MUTANTS = [
    ("firing.next(fresh, ends)", "firing.next(fresh, token.value)"),
    ("token.stop >= self.rank", "token.stop > self.rank"),
    ("stop=token.stop", "stop=0"),
    ("rank=token.rank", "rank=0"),
    ("firing.occupy(when=token.value,", "firing.occupy(when=token.stop,"),
    ("firing.latched(fresh)", "fresh"),
]
EMPTIES = [("with m.If(token.value | ends):", "with m.If(token.value):")]
STREAMED = [("datapath.emit.eq(firing.fired(token.value))", "datapath.emit.eq(firing.fired(token.stop))")]
EXCLUSIVE = [
    ("Mux(Mux(begins, first, held), initial", "Mux(Mux(begins, first, 0), initial"),
    ("m.d.sync += held.eq(first)", "m.d.sync += held.eq(0)"),
    ("self.result.cycles, number, comes, word", "self.result.cycles, 0, comes, word"),
]


class Scanned(Mapped):
    """The states of a reduction; `INITIAL` is that before it, where the state before a value leaves."""

    def expected(self, m: Module, beats: int) -> Value:
        (front,), (take,) = self.fronts, self.takes
        some, before, after = Signal(), Signal(beats), Signal(beats)  # of the values that this reduction had
        m.d.comb += after.eq(super().expected(m, beats) ^ Mux(some, before, 0))
        ends = front.stop >= self.rule.rank
        with m.If(take & (front.value | ends)):
            m.d.sync += some.eq(~ends)
        with m.If(take & front.value):
            m.d.sync += before.eq(after)
        return after if self.rule.before is None else Mux(some, before, INITIAL)


def scanned(
    module: Any, operand: TokenFormat, result: TokenFormat, rank: int, *, streams: bool, exclusive: bool
) -> Scanned:
    datapath = (StreamedParity(operand) if streams else Parity(operand, result)) if result.items else None
    initial = (INITIAL, *[0] * (result.beats - 1)) if exclusive else None
    return Scanned(module.Scan((operand,), result, datapath, rank, initial))


@proofs(
    ("operand", "result", "rank", "streams", "exclusive", "mutants"),
    [
        (words(2, 2), words(2, 2), 1, False, False, MUTANTS),
        (words(2, 1), words(2, 1), 2, False, False, EMPTIES),
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
        return scanned(module, operand, result, rank, streams=streams, exclusive=exclusive)

    check(scan, bench, mutants)
