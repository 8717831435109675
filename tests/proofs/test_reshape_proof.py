"""Reshape: every element once, chunks of the right length, padding only where a chunk is left open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Assert, Module, Mux, Signal
from cases import cases
from proving import refuted
from refuting import check_rule, some_or_all_mutants
from unit_bench import UnitBench, bare, control, equal, translated, words

from hw.firing.unit import Unit
from hw.links.layout import TokenFormat
from step.firing.machine import Machine
from step.rules.reshape import Reshape, Split

pytestmark = pytest.mark.large


class Chunks(UnitBench):
    """All leaves a cycle later: what is sent is compared with what was in front in the cycle before."""

    patience = 1

    def check(self, m: Module, unit: Unit) -> None:
        (put, flags), (sent, flag) = self.puts, self.sent
        front, words = Signal(self.rule.inputs[0].header), Signal.like(self.words[0])
        take, done = Signal(), Signal()
        m.d.sync += [front.eq(self.fronts[0]), words.eq(self.words[0]), take.eq(self.takes[0])]
        m.d.sync += done.eq(self.visible[0] & self.fronts[0].done)
        count = Signal(range(self.given["chunk"]))  # elements that the open chunk has by now
        owed, stop = Signal(), Signal(front.stop.shape())  # it is to be filled up, and this stop follows
        last = count == self.given["chunk"] - 1
        element = take & front.value
        padding = put & ~take
        ends = Mux(last, Mux(padding, Mux(owed, stop, 0), front.stop) + 1, 0)
        with m.If(element | padding):
            m.d.sync += count.eq(Mux(last, 0, count + 1))
            m.d.sync += owed.eq(Mux(padding, owed, front.stop != 0) & ~last)
        with m.If(element):
            m.d.sync += stop.eq(front.stop)
        pad = self.given["filler"]
        m.d.comb += [
            Assert(put == flags),
            Assert(~take | (put & ~owed)),
            Assert(~put | (Mux(sent.value, flag.value, equal(flag, sent, control=0)) & (flag.stop == sent.stop))),
            Assert(~padding | ((count != 0) & (owed | done))),
            Assert(~padding | (sent.value & (sent.rank == 0) & ~sent.done)),
            Assert(~padding | (sent.control == pad) if self.rule.inputs[0].control else 1),
            Assert(~(padding | element) | (sent.stop == ends)),
            Assert(~element | equal(sent, front, stop=ends)),
            Assert(~(take & ~front.value) | (count == 0)),
            Assert(~(take & front.done) | equal(sent, front)),
            Assert(~(take & (front.rank != 0)) | equal(sent, front, stop=front.stop + 1, rank=front.rank + 1)),
            Assert(unit.fault == 0),
        ]
        (bits,) = (pad,) if isinstance(pad, int) else pad.items
        pad_words = sum((bits >> 8 * at & 1) << at for at in range(len(words)))
        self.expects = {0: Mux(padding, pad_words, words), 1: padding}


def chunks(machine: type[Machine], token: TokenFormat, filler: Any) -> Chunks:
    higher = token.rank + 1
    made = [replace(token, rank=higher), replace(words(higher, 1), items=(1,))]
    return Chunks(translated(machine, [token], made, latency=1, chunk=3, filler=filler))


def tile(*row: int) -> np.ndarray:
    return np.array([row], np.uint8)


@cases(
    (words(1, 2), tile(0, 1)), (words(2, 1), tile(1)), (words(0, 3), tile(1, 0, 1)), (control(0, 2), 2), (bare(1), 0)
)
def test_chunks_are_whole(token: TokenFormat, filler: Any) -> None:
    assert refuted({"": chunks(Reshape, token, filler)}) == {}


@some_or_all_mutants
def test_mutants(thorough: bool) -> None:
    check_rule(Reshape, lambda each: chunks(each, words(1, 2), tile(0, 1)), thorough=thorough)


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
