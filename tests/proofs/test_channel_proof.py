"""Channels: whatever is written is read once, in order and unchanged, however it is claimed, written and read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, Assume, Const, Module, Mux, Signal
from amaranth.lib import data
from proving import Bench
from refuting import check, proofs

from hw.links import channel

pytestmark = pytest.mark.large

HEADERS = [
    ("place == room - step, 0", "place == room - 2 * step, 0"),
    ('"claimed", self._depth, up=self.i.claim', '"claimed", self._depth, up=self.i.valid'),
    ("space: Value = claimed != self._depth", "space: Value = claimed != self._depth + 1"),
    ("leaves.eq(self.o.valid & self.o.ready)", "leaves.eq(self.o.ready)"),
    ('place(m, "write_place", self._depth, arriving)', 'place(m, "write_place", self._depth, leaves)'),
    ("(up & ~down, count + by)", "(up, count + by)"),
]
FOLLOWING = "oldest if alone else Mux(self.o.open, "
LEFT = 'countdown(m, f"left{tag}", self._format.words, begins, words)'
WORDS = [
    ("begins = valid & header.value", "begins = valid"),
    ("(self._depth + self._spare) * self._places", "self._depth * self._places"),
    ('place(m, "oldest", room, self.o.drop, self._places)', 'place(m, "oldest", room, self.o.drop)'),
    (LEFT, LEFT.replace("words)", "words - 1)")),
    (f"left, arrives = {LEFT}", f"left = {LEFT}[0]\n        arrives = begins | (left > 1)"),
    (f"{FOLLOWING}oldest + self.o.offset, address + 1", f"{FOLLOWING}oldest, address + 1"),
    (f"{FOLLOWING}oldest + self.o.offset, address + 1", f"{FOLLOWING}oldest + self.o.offset, oldest + 1"),
    ("place == room - step, 0", "place == room - 2 * step, 0"),
]
ONE_WORD = [("m.d.sync += arrives.eq(begins)", "m.d.comb += arrives.eq(begins)")]

SLOW = [(1, 3, 0), (1, 3, 1), (3, 2, 0), (2, 3, 0), (2, 3, 1), (3, 2, 1), (3, 3, 0), (3, 3, 1)]


@dataclass(frozen=True)
class Values:
    """Headers that say whether they have a value, of ``words`` words of one bit."""

    words: int
    header = data.StructLayout({"value": 1})
    most_rows = bound = 0

    @property
    def word_bits(self) -> int:
        return int(self.words > 0)


class ChannelBench(Bench):
    """A channel, read and written at any time; ``mark`` chooses what is followed on its way."""

    def __init__(self, size: int, depth: int, spare: int, module: Any) -> None:
        super().__init__()
        self.size, self.depth, self.room = size, depth, depth + spare
        self.channel, self.mark = module.ChannelFifo(Values(size), depth, spare), self.input("mark")
        for side, names in ((self.channel.i, "claim valid header word"), (self.channel.o, "ready drop open offset")):
            self.given |= {name: getattr(side, name) for name in names.split() if hasattr(side, name)}

    def build(self, m: Module) -> None:
        m.submodules.channel = self.channel
        self.check(m, self.channel.i, self.channel.o)

    def check(self, m: Module, writer: Any, reader: Any) -> None:
        raise NotImplementedError


class Headers(ChannelBench):
    """``ahead`` counts the headers that must leave before the one that is followed."""

    def check(self, m: Module, writer: Any, reader: Any) -> None:
        claims, inside, ahead = (Signal(range(self.depth + 1), name=name) for name in ("claims", "inside", "ahead"))
        followed, value, leaves = Signal(), Signal(), Signal()
        m.d.comb += [
            leaves.eq(reader.valid & reader.ready),
            Assume(~writer.claim | writer.space),
            Assume(~writer.valid | (claims != 0) | writer.claim),  # in the same cycle or later
            Assert(writer.space == (claims + inside != self.depth)),
            Assert(reader.valid == (inside != 0)),
            Assert(~(followed & (ahead == 0)) | (reader.header.value == value)),
        ]
        m.d.sync += [claims.eq(claims + writer.claim - writer.valid), inside.eq(inside + writer.valid - leaves)]
        with m.If(self.mark & writer.valid & ~followed):
            m.d.sync += [followed.eq(1), value.eq(writer.header.value), ahead.eq(inside - leaves)]
        with m.Elif(followed & leaves):
            m.d.sync += [ahead.eq(ahead - 1), followed.eq(ahead != 0)]


class Words(ChannelBench):
    """``before`` counts the values of which the words are dropped before those that are followed.

    A value is written when the words of the last one are, and there is room for it; that there is follows from what is
    asserted of headers, as a reader takes up to ``spare`` of them before it drops the words. Bare ones come any time.
    """

    def check(self, m: Module, writer: Any, reader: Any) -> None:
        size = self.size
        begins, writing = writer.valid & writer.header.value, Signal(range(size + 1))  # words to come
        values, before = Signal(range(self.room + 1)), Signal(range(self.room + 1))
        m.d.comb += [Assume(~begins | ((writing <= 1) & (values != self.room))), Assume(~reader.drop | (values != 0))]
        m.d.sync += values.eq(values + begins - reader.drop)
        m.d.sync += writing.eq(Mux(begins, size, Mux(writing != 0, writing - 1, 0)))

        followed, arrived = Signal(), Signal(range(size + 1), init=size)
        words = Array(Signal(name=f"word{number}") for number in range(size))
        with m.If(arrived != size):
            m.d.sync += [words[arrived].eq(writer.word), arrived.eq(arrived + 1)]
        with m.If(self.mark & begins & ~followed):
            m.d.sync += [followed.eq(1), arrived.eq(0), before.eq(values - reader.drop)]
        with m.Elif(followed & reader.drop):
            m.d.sync += [before.eq(before - 1), followed.eq(before != 0)]

        opens, offset = (reader.open, reader.offset) if size > 1 else (Const(1), Const(0))
        followed_is_oldest = followed & (before == 0)
        m.d.comb += Assume(~(opens & followed_is_oldest) | (offset <= arrived))  # not before the word is there
        m.d.comb += Assume(offset < size)
        reading, number = Signal(), Signal(range(size + 1))
        m.d.sync += number.eq(Mux(opens, offset, number + 1))
        m.d.sync += reading.eq(Mux(opens, followed_is_oldest, reading & (number != size - 1)))
        m.d.comb += Assert(~reading | (reader.word == words[number]))


@proofs(("depth", "mutants"), [(2, HEADERS), (3, HEADERS[:1]), pytest.param(4, [], marks=pytest.mark.slow)])
def test_headers_come_out_as_they_went_in(depth: int, mutants: list[tuple[str, str]]) -> None:
    check(channel, lambda module: Headers(0, depth, 0, module), mutants)


@proofs(
    ("size", "depth", "spare", "mutants"),
    [
        (1, 2, 0, ONE_WORD),
        (1, 2, 1, WORDS[1:2]),
        (2, 2, 0, []),
        (2, 2, 1, WORDS),
        *(pytest.param(*each, [], marks=pytest.mark.slow) for each in SLOW),
    ],
)
def test_words_come_out_as_they_went_in(size: int, depth: int, spare: int, mutants: list[tuple[str, str]]) -> None:
    check(channel, lambda module: Words(size, depth, spare, module), mutants)
