"""What DMA has of memory is what it asked for, for memory in any rhythm; what it writes is what it was given.

A reader asks for requests in order, none from its limit on, and never for more than it has room for; its words are
those that came. A writer fills requests in order, none from its limit on, which leave without a gap once they begin;
its beats are those that it was given.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from amaranth.hdl import (
    Assert,
    Assume,
    Cat,
    ClockDomain,
    Const,
    DomainRenamer,
    Elaboratable,
    Module,
    Mux,
    Signal,
    Value,
)
from proving import Bench
from refuting import check, proofs
from test_axi_proof import Stays

from hw.dma import reader, writer

pytestmark = pytest.mark.large

REQUEST, DEPTH, MOST = 2, 4, 3
"""Beats of a request; beats that a reader has room for; requests at most."""

READ = [
    ("reserved <= self._depth - REQUEST", "reserved <= self._depth - 1"),
    ("(asked < self.limit) & ~offers & ~asks", "(asked < self.limit) & ~offers"),
    ("asked + takes", "asked + 1"),
    ("(reserved == 0)", "(reserved <= 1)"),
]
CUT = [
    *READ,
    ("at == parts - 1", "at == 0"),
    ("counts(m, at, self.pop, self.skip)", "counts(m, at, self.pop, self.skip & 0)"),
]
GATHERED = [*READ, ("Mux(whole, self.pop, present)", "present")]
DEEP = [*READ, ("following.eq(out + pop)", "following.eq(out)"), ("up=came", "up=comes")]

WRITE = [
    ("fits.eq(request < self.limit)", "fits.eq(request <= self.limit)"),
    ("leaves & (sent == REQUEST - 1)", "leaves"),
    ("(sent != 0) |", "(sent == 1) & self.ready |"),
    ("((held >= REQUEST) & fits)", "((held != 0) & fits)"),
    ("space = out[:bits], held != depth", "space = out[:bits], held != depth + 1"),
    ("self.close & ~self.closed & space", "self.close & ~self.closed"),
]
FILLED = [*WRITE, ("last = self.skip | (", "last = ("), ("at <= number", "at == number")]


def spread(bits: Value) -> Value:
    """Bytes of a bit each."""
    return Cat(Cat(each, Const(0, 7)) for each in bits)


class Dma(Bench):
    """One of ``module``, whose requests have `REQUEST` beats."""

    def __init__(self, module: Any, beat: int, word: int) -> None:
        super().__init__()
        self.module, self.beat, self.word = module, beat, word
        self.input("rst")

    def dut(self, m: Module, inner: Any, shallow: int) -> None:
        """``inner`` has the reset that is given; what the bench knows has none."""
        dma = ClockDomain("dma")
        m.domains.dma = dma
        m.d.comb += [dma.clk.eq(self.clock.clk), dma.rst.eq(self.given["rst"])]
        m.submodules.dma = DomainRenamer("dma")(Small(self.module, inner, shallow))


class Small(Elaboratable):
    """``inner`` with short requests, and block RAM from few beats on."""

    def __init__(self, module: Any, inner: Any, shallow: int) -> None:
        self.module, self.inner, self.shallow = module, inner, shallow

    def elaborate(self, platform: Any) -> Elaboratable:
        with (
            patch.object(self.module, "REQUEST", REQUEST),
            patch.object(self.module, "SHALLOW", self.shallow, create=True),
        ):
            return self.inner.elaborate(platform)


class Reads(Dma):
    """Beats, and the words that they make up, each with one bit that is not always 0."""

    def __init__(self, module: Any, beat: int, word: int, *, deep: bool) -> None:
        super().__init__(module, beat, word)
        self.deep = deep
        for name in ("ready", "comes", "pop", "skip"):
            self.input(name)
        self.input("limit", MOST.bit_length())
        self.input("bits", beat)

    def build(self, m: Module) -> None:
        parts, together = max(1, self.beat // self.word), max(1, self.word // self.beat)
        reader = self.module.BeatReader(self.beat, self.word, DEPTH)
        self.dut(m, reader, DEPTH - self.deep)
        given, bits, request, rst = self.given, self.given["bits"], reader.request, self.given["rst"]
        m.d.comb += [
            reader.limit.eq(given["limit"]), request.ready.eq(given["ready"]),
            reader.response.valid.eq(given["comes"]), reader.response.payload.eq(spread(bits)),
            reader.pop.eq(given["pop"]), reader.skip.eq(given["skip"]), Assume(~reader.pop | (reader.valid & ~rst)),
        ]  # fmt: skip
        taken, due, held = Signal(range(MOST + 1)), Signal(range(DEPTH + 1)), Signal(range(DEPTH + 1))
        takes, comes, leaves = Signal(), given["comes"], Signal()
        before = Signal.like(given["limit"])
        m.d.sync += before.eq(Mux(rst, 0, given["limit"]))
        at, waits = Signal(range(max(2, parts, together))), Signal()
        m.d.sync += waits.eq(rst & (request.valid | (due != 0)))
        m.d.comb += [Assume((given["limit"] >= before) | rst), Assume(rst | ~waits)]
        Stays(m, "request", request.valid, request.ready, [request.payload], Assert)

        m.d.comb += [
            takes.eq(request.valid & request.ready),
            Assert(~request.valid | (request.payload == REQUEST * taken)),
            Assert(~request.valid | rst | (taken < given["limit"])),
            Assert(rst | (REQUEST * request.valid + due + held <= DEPTH)),
            Assume(~comes | (due != 0)),
            Assert(~reader.ended | rst | ((due == 0) & (held == 0) & ~request.valid & (taken == before))),
        ]
        m.d.sync += [
            taken.eq(Mux(rst & (takes | ~request.valid), 0, taken + takes)),
            due.eq(due + Mux(takes, REQUEST, 0) - comes),
            held.eq(Mux(rst, 0, held + comes - leaves)),
        ]
        # The beats that are held, the oldest lowest.
        kept = Signal(DEPTH * self.beat)
        gone = kept >> Mux(leaves, self.beat, 0)
        rest = (held - leaves)[: len(held)]
        m.d.sync += kept.eq(Mux(rst, 0, gone | Mux(comes, bits << rest * self.beat, 0)))
        if together == 1:
            m.d.comb += [
                leaves.eq(reader.pop & (reader.skip | (at == parts - 1))),
                Assert(~reader.valid | (held != 0)),
                Assert(~reader.valid | (reader.word[::8] == kept.word_select(at, self.word))),
            ]
            with m.If(reader.pop):
                m.d.sync += at.eq(Mux(leaves, 0, at + 1))
            if not self.deep:
                m.d.comb += Assert(reader.valid == (held != 0))
        else:
            # Beats of a word but the last one may leave as soon as they came: they are counted as left.
            first = Signal(self.beat)
            m.d.comb += [
                leaves.eq((held != 0) & Mux(at == 1, reader.pop, 1)),
                Assert(reader.valid == ((held != 0) & (at == 1))),
                Assert(~reader.valid | (reader.word[::8] == Cat(first, kept[: self.beat]))),
            ]
            with m.If(leaves):
                m.d.sync += [at.eq(~at), first.eq(kept[: self.beat])]
        with m.If(rst):
            m.d.sync += at.eq(0)


class Writes(Dma):
    """Words of a bit that is not always 0, and the beats that they make up."""

    def __init__(self, module: Any, beat: int, word: int, first: int) -> None:
        super().__init__(module, beat, word)
        self.first = first
        for name in ("valid", "skip", "close", "rewind", "ready"):
            self.input(name)
        self.input("limit", MOST.bit_length())
        self.input("bits", word)

    def build(self, m: Module) -> None:
        parts, together = max(1, self.beat // self.word), max(1, self.word // self.beat)
        writer = self.module.Writer(self.beat, self.word, self.first)
        self.dut(m, writer, DEPTH)
        given, store, rst = self.given, writer.store, self.given["rst"]
        m.d.comb += [
            writer.limit.eq(given["limit"]),
            writer.word.eq(spread(given["bits"])),
            *(getattr(writer, name).eq(given[name]) for name in ("valid", "skip", "close", "rewind")),
            store.ready.eq(given["ready"]),
        ]
        Stays(m, "word", writer.valid, writer.ready, [given["bits"]], lambda holds: Assume(holds | rst))
        Stays(m, "store", store.valid, store.ready, [Value.cast(store.payload)], Assert)

        room = REQUEST if parts > 1 else 2 * REQUEST
        begin, at = REQUEST * self.first, Signal(range(max(2, parts, together)))  # words of a beat, or beats of a word
        place, held = Signal(range(REQUEST * (MOST + 1)), init=begin), Signal(range(room + 1))  # of the oldest beat
        before, waits, late, reset = Signal.like(given["limit"]), Signal(), Signal(), Signal()
        leaves, moves, whole, pads, clears = Signal(), Signal(), Signal(), Signal(), Signal()
        space, within, odd = held != room, place[1:] < given["limit"], Signal()
        m.d.sync += [before.eq(given["limit"]), waits.eq(store.valid & ~store.ready), late.eq(1), reset.eq(rst)]
        m.d.comb += [
            odd.eq((place + held)[0]),
            Assume((given["limit"] == before) | (rst & ~waits) | ~late),
            Assume(rst | ~reset | ~waits),
            Assume(~writer.close | (~writer.valid & (at == 0))),
            Assume(~writer.rewind | ((held == 0) & ~odd & ~writer.valid)),
            leaves.eq(store.valid & store.ready),
            moves.eq(writer.valid & space),
            pads.eq(writer.close & odd & space),
            clears.eq(rst & (~store.valid | store.ready)),
            Assert(~store.valid | ((store.payload.address == place) & (held != 0))),
            Assert(~store.valid | rst | within),
            Assert(~place[0] | store.valid | rst),
            Assert(~store.valid | place[0] | (held >= REQUEST) | rst),
            Assert(rst | (writer.full == ((held >= REQUEST) & ~place[0] & ~within))),
            Assert(rst | ((writer.empty == (held == 0)) & (writer.closed == ~odd))),
        ]
        # The beats that are held, the oldest lowest, and the words of the one that comes.
        kept, begun, beat = Signal(room * self.beat), Signal(self.beat), Signal(self.beat)
        if together > 1:
            m.d.comb += [whole.eq(moves), beat.eq(given["bits"].word_select(at, self.beat))]
            m.d.comb += Assert(writer.ready == (space & (at == together - 1)))
        else:
            rest = (given["bits"].replicate(parts) << (at * self.word))[: self.beat]
            mask = (Const(-1, self.beat) << (at * self.word))[: self.beat]
            m.d.comb += [whole.eq(moves & (writer.skip | (at == parts - 1))), beat.eq(rest | (begun & ~mask))]
            m.d.comb += Assert(writer.ready == space)
        m.d.comb += Assert(~store.valid | (store.payload.data[::8] == kept[: self.beat]))
        count = held - leaves
        m.d.sync += [
            begun.eq(Mux(moves, beat, begun)),
            at.eq(Mux(rst, 0, Mux(moves, Mux(whole & (together == 1) | (at == together * parts - 1), 0, at + 1), at))),
            held.eq(Mux(clears, 0, count + (whole | pads))),
            place.eq(Mux(clears, begin, Mux(writer.rewind, 0, place + leaves))),
            kept.eq(Mux(leaves, kept >> self.beat, kept) | (Mux(whole, beat, 0) << (count[: len(held)] * self.beat))),
        ]
        with m.If(clears):
            m.d.sync += kept.eq(0)


def reads(beat: int, word: int, *, deep: bool = False) -> Any:
    return lambda module: Reads(module, beat, word, deep=deep)


def writes(beat: int, word: int, first: int) -> Any:
    return lambda module: Writes(module, beat, word, first)


@proofs(
    ("beat", "word", "deep", "mutants"),
    [
        (1, 1, False, READ),
        pytest.param(2, 1, False, CUT, marks=pytest.mark.slow),
        pytest.param(1, 2, False, GATHERED, marks=pytest.mark.slow),
        pytest.param(1, 1, True, DEEP, marks=pytest.mark.slow),
    ],
)
def test_reader(beat: int, word: int, deep: bool, mutants: list[tuple[str, str]]) -> None:
    check(reader, reads(beat, word, deep=deep), mutants)


@proofs(
    ("beat", "word", "first", "mutants"),
    [
        (1, 1, 0, WRITE),
        pytest.param(2, 1, 1, FILLED, marks=pytest.mark.slow),
        pytest.param(1, 2, 0, WRITE, marks=pytest.mark.slow),
    ],
)
def test_writer(beat: int, word: int, first: int, mutants: list[tuple[str, str]]) -> None:
    check(writer, writes(beat, word, first), mutants)
