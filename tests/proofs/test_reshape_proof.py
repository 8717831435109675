"""Reshape: every element once, chunks of the right length, padding only where a chunk is left open."""

from __future__ import annotations

from dataclasses import replace

import pytest
from amaranth.hdl import Assert, Module, Mux, Signal
from proving import refuted
from refuting import check, check_rule, proofs, some_or_all_mutants
from unit_bench import UnitBench, bare, control, equal, translated, words

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from hw.units import reshape
from step.firing.machine import Machine
from step.rules.reshape import Split

MUTANTS = [
    ("last.eq(count == self.chunk - 1)", "last.eq(count == self.chunk - 2)"),
    ("put_element(fill_stop)", "put_element(Const(0))"),
    ("firing.next(filling, ~last)", "firing.next(filling, 0)"),
    (
        "firing.put(port, stop=token.stop + 1, rank=token.rank + 1)",
        "firing.put(port, stop=token.stop, rank=token.rank)",
    ),
    ("firing.occupy(when=element,", "firing.occupy(when=token.value & element,"),
    ("pads = firing.latched(padding)", "pads = firing.registered(padding)"),
    ("len(word)) for each in self.pad)[firing.phase()]", "len(word)) for each in self.pad)[0]"),
]
OF_ONE_WORD = [("firing.send(1, firing.registered(pads) if self.latency else pads)", "firing.send(1, pads)")]
AT_DONE = [("with m.Elif(count != 0):", "with m.Elif(count > 1):")]


class Chunks(UnitBench):
    """All leaves a cycle later: what is sent is compared with what was in front in the cycle before."""

    patience = 1

    def check(self, m: Module, unit: Unit) -> None:
        (put, flags), (sent, flag) = self.puts, self.sent
        front, words = Signal(self.rule.token.header), Signal.like(self.words[0])
        take, done = Signal(), Signal()
        m.d.sync += [front.eq(self.fronts[0]), words.eq(self.words[0]), take.eq(self.takes[0])]
        m.d.sync += done.eq(self.visible[0] & self.fronts[0].done)
        count = Signal(range(self.rule.chunk))  # elements that the open chunk has by now
        owed, stop = Signal(), Signal(front.stop.shape())  # it is to be filled up, and this stop follows
        last = count == self.rule.chunk - 1
        element = take & front.value
        padding = put & ~take
        ends = Mux(last, Mux(padding, Mux(owed, stop, 0), front.stop) + 1, 0)
        with m.If(element | padding):
            m.d.sync += count.eq(Mux(last, 0, count + 1))
            m.d.sync += owed.eq(Mux(padding, owed, front.stop != 0) & ~last)
        with m.If(element):
            m.d.sync += stop.eq(front.stop)
        pad = self.rule.pad[0]
        m.d.comb += [
            Assert(put == flags),
            Assert(~take | (put & ~owed)),
            Assert(~put | (Mux(sent.value, flag.value, equal(flag, sent, control=0)) & (flag.stop == sent.stop))),
            Assert(~padding | ((count != 0) & (owed | done))),
            Assert(~padding | (sent.value & (sent.rank == 0) & ~sent.done)),
            Assert(~padding | (sent.control == pad) if self.rule.token.control else 1),
            Assert(~(padding | element) | (sent.stop == ends)),
            Assert(~element | equal(sent, front, stop=ends)),
            Assert(~(take & ~front.value) | (count == 0)),
            Assert(~(take & front.done) | equal(sent, front)),
            Assert(~(take & (front.rank != 0)) | equal(sent, front, stop=front.stop + 1, rank=front.rank + 1)),
            Assert(unit.fault == 0),
        ]
        pad_words = sum((word & 1) << at for at, word in enumerate(self.rule.pad))
        self.expects = {0: Mux(padding, pad_words, words), 1: padding}


@proofs(
    ("token", "pad", "mutants"),
    [
        (words(1, 2), (0, 1), MUTANTS),
        (words(2, 1), (1,), OF_ONE_WORD),
        (words(0, 3), (1, 0, 1), AT_DONE),
        (control(0, 2), (2,), []),
        (bare(1), (0,), []),
    ],
)
def test_chunks_are_whole(token: TokenFormat, pad: tuple[int, ...], mutants: list[tuple[str, str]]) -> None:
    flag = TokenFormat(token.rank + 1, (1,), 8)
    check(reshape, lambda module: Chunks(module.Reshape(token, flag, 3, pad)), mutants)


class Splits(UnitBench):
    """Every chunk of tensors ends with a higher stop; nothing is padding."""

    def check(self, m: Module, unit: Unit) -> None:
        (front,), (take,), rank = self.fronts, self.takes, self.given["rank"]
        count = Signal(range(self.given["chunk"]))  # tensors in the open chunk
        outside, last = front.rank > rank, count == self.given["chunk"] - 1
        ends = (front.stop >= rank) & ~outside
        with m.If(take & ends):
            m.d.sync += count.eq(Mux(last, 0, count + 1))
        stop, higher = front.stop + (outside | (ends & last)), front.rank + outside
        for put, sent in zip(self.puts, self.sent, strict=True):
            m.d.comb += [Assert(put == take), Assert(~put | equal(sent, front, stop=stop, rank=higher))]
        m.d.comb += Assert(unit.fault == 0)
        self.expects = {0: self.words[0], 1: 0}


def splits(machine: type[Machine], token: TokenFormat, rank: int) -> Splits:
    higher = token.rank + 1
    chunks = [replace(token, rank=higher), replace(words(higher, 1), items=(1,))]
    return Splits(translated(machine, [token], chunks, chunk=3, rank=rank))


@pytest.mark.parametrize(("token", "rank"), [(words(2, 1), 2), (control(2), 1), (bare(2), 1)])
def test_chunks_of_tensors_end_higher(token: TokenFormat, rank: int) -> None:
    assert refuted({"": splits(Split, token, rank)}) == {}


@some_or_all_mutants
def test_mutants_of_splitting(thorough: bool) -> None:
    check_rule(Split, lambda each: splits(each, words(2, 2), 1), thorough=thorough)
