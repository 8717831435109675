"""Cutting a tile into pieces, which leave one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value

from hw.arithmetic.staged import placed
from hw.firing.machine import Firing
from hw.firing.unit import FiringRule
from hw.functions.corner_turn import CornerTurn, Move, moves_of
from hw.functions.retile import RetileSlicer
from hw.links.layout import TokenFormat
from hw.links.words import in_words, whole
from hw.primitives.timing import becomes, countdown, counter, held
from hw.verilog.modules import Shared


@dataclass(frozen=True)
class Pieces(FiringRule):
    """The pieces that ``slicer`` makes of a tile.

    A piece that is made of whole words, or is a part of one, is read where it lies. All others have to wait until the
    element is there, `latency` cycles; then the next one comes while they leave. They wait in a memory or in registers,
    as the plan says; and so where pieces are control, of which the header waits for them.
    """

    token: TokenFormat
    piece: TokenFormat
    slicer: RetileSlicer

    initiation_interval = property(lambda self: self.slicer.plan.initiation_interval if self.piece.items else 1)
    latency = property(lambda self: self.slicer.plan.latency if self.piece.items else 0)
    inputs = property(lambda self: (self.token,))
    outputs = property(lambda self: (self.piece,))

    def cut(self, m: Module, firing: Firing, index: Signal, value: Value) -> None:
        """Send the words of piece ``index``."""
        kind = self.slicer.plan.kind
        if kind == "sliding":
            slide(m, firing, self.token, self.piece, index == 0, value)
        elif kind == "whole":
            if self.token.words > 1:
                firing.read_from(0, index * self.piece.words)
            firing.pass_data(0, 0)
        elif kind == "within":
            firing.send(0, self.within(m, firing, index, firing.latched))
        else:
            begins = firing.delayed(firing.fired(value))
            number, word = self.collect(m, firing, value, index == 0)
            which = firing.delayed(firing.latched(index))
            if kind == "turned":
                firing.send(0, self._turned(m, number, word, begins, which))
            else:
                piece = placed(m, "slicer", self.slicer, self.gather(m, number, word), which)
                firing.send(0, in_words(m, piece, begins, self.piece.word_bits))

    def within(self, m: Module, firing: Firing, index: Signal, at_result: Callable[[Value], Value]) -> Value:
        """Piece ``index`` out of the word that it lies in, when that is there; ``at_result``: its number then."""
        pieces = min(self.token.bits, self.token.link_bits) // self.slicer.plan.result_bits  # of a word
        within: Value = index
        if self.token.words > 1:
            shift = pieces.bit_length() - 1
            firing.read_from(0, index >> shift)
            within = index[:shift]
        return placed(m, "slicer", RetileSlicer(self.slicer.plan, pieces), firing.word(0), at_result(within))

    def collect(self, m: Module, firing: Firing, value: Value, first: Value) -> tuple[Signal, Value]:
        """The word of the element that comes now, and its number; that is `words` of it where none comes."""
        number = Signal(range(self.token.words + 1), init=self.token.words)
        firing.read_from(0, Mux(first, 0, number + 1))  # it goes on below the firings of other pieces
        becomes(m, number, (firing.fires & value & first, 0), (number != self.token.words, number + 1))
        return number, firing.word(0)

    def _turned(self, m: Module, number: Signal, word: Value, begins: Value, index: Value) -> Value:
        """The words of piece ``index``, out of a memory for two elements: one leaves, one comes."""
        item = math.gcd(self.slicer.width, self.token.word_bits)
        m.submodules.turn = turn = Shared(CornerTurn(self.moves(item), item, 2))
        into, _ = counter(m, 2, "coming", number == self.token.words - 1)
        before = Signal(init=1)
        leaving = Signal()
        place, following = (Signal(range(self.piece.words), name=name) for name in ("place", "following"))
        m.d.comb += [leaving.eq(before ^ (begins & (index == 0))), place.eq(Mux(begins, 0, following))]
        m.d.sync += [before.eq(leaving), following.eq(place + 1)]
        m.d.comb += [
            *(turn.write.eq(number != self.token.words), turn.write_part.eq(into), turn.write_step.eq(number)),
            *(turn.values.eq(word), turn.read_part.eq(leaving), turn.read_step.eq(index * self.piece.words + place)),
        ]
        return turn.result

    def moves(self, item: int) -> tuple[Move, ...]:
        """From the words of a tile to those of its pieces, by items of so many bits."""
        width, pieces, words = self.slicer.width // item, self.slicer.pieces, self.piece.words
        enter, leave = self.token.word_bits // item, self.piece.word_bits // item
        places = product(range(self.slicer.lines), range(pieces), range(width))
        ways = (
            ((row * pieces + piece) * width + at, piece * words * leave + row * width + at) for row, piece, at in places
        )
        return moves_of(ways, enter, leave)

    def gather(self, m: Module, number: Signal, word: Value) -> Signal:
        """The last element of which all words have come."""
        last = self.token.words - 1
        return held(m, whole(m, "element", word, number, self.token, last), number == last, "element")


def send_pieces(
    m: Module, firing: Firing, index: Signal, some: Value, last: Value, *, raised: int, own: Any = 0, **given: Any
) -> None:
    """Send piece ``index`` of what is in front, if there are ``some``, with its ``own`` stop; the ``last`` one has the
    stop of what is in front, ``raised`` by so many levels as that of an empty, and takes it."""
    token = firing.head(0)
    stop, rank = (Mux(token.done, 0, each + raised) for each in (token.stop, token.rank))
    firing.put(0, done=token.done, value=some, stop=Mux(last, stop, own), rank=Mux(some, 0, rank), **given)
    firing.next(index, Mux(last, 0, index + 1))
    with m.If(last):
        for port in range(len(firing.unit.rule.inputs)):
            firing.take(port)
    firing.finish(token.done)


def slide(m: Module, firing: Firing, token: TokenFormat, piece: TokenFormat, first: Value, some: Value) -> None:
    """Send the rows of a tile, a row per firing with ``some``: the ``first`` one, or the next.

    A row lies in the word that is read and the one before it: of both together it begins at ``place``, where the one
    before ended.
    """
    unit = math.gcd(piece.bits, token.link_bits)
    words, most = piece.words, token.link_bits // unit
    more = piece.bits // unit - (words - 1) * most  # units of the last word
    place, read = Signal(range(most + 1), name="place"), Signal(range(token.words + 1), name="read")
    begin, end = Signal.like(place, name="begin"), Signal(range(2 * most + 1), name="row_end")
    m.d.comb += [begin.eq(Mux(first, most, place)), end.eq(begin + more)]
    from_word = Mux(first, 0, read)
    over = end > most
    firing.read_from(0, from_word[: len(read)])
    firing.next(place, Mux(over, end - most, end))
    firing.next(read, from_word + (words - 1) + over)

    left, _ = countdown(m, "words_left", words, firing.fires & some, words)
    current = firing.word(0)
    before = held(m, current, (left > 1) | ((left == 1) & firing.latched(over)), "word_before")
    both = Cat(before, current)
    firing.send(0, Array(both[at * unit :][: piece.word_bits] for at in range(most + 1))[firing.latched(begin)])
