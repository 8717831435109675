"""Words of a channel that are read in another width than they are written in.

Every item of a value starts a word at either end. A place of the ring has a word of the wider end, which is several
words of the narrower end side by side; the last place of an item may have room for more of them than there are.
"""

from __future__ import annotations

from itertools import accumulate, zip_longest

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from hw.links.layout import TokenFormat
from hw.primitives.delay import DelayLine
from hw.primitives.memories import Ram
from hw.primitives.timing import countdown
from hw.verilog.modules import Shared
from step.lowering.links import Gathering


class Gears:
    """Places for the words of ``written``, which are read as those of ``read``; ``room`` places in all."""

    def __init__(self, m: Module, written: TokenFormat, read: TokenFormat, room: int, *, deep: bool) -> None:
        self._m, self._room, self._deep = m, room, deep
        self.widens = written.word_bits < read.word_bits
        self.narrow, self.wide = (written, read) if self.widens else (read, written)
        self._part_bits = (-(-self.wide.word_bits // self.narrow.word_bits) - 1).bit_length()

    def split(self, number: Value) -> tuple[Value, Value]:
        """The place, from that of the value on, and the part of it where word ``number`` of the narrower end is."""
        parts, padding = 1 << self._part_bits, 0
        before: Value = Const(0)
        if not self.narrow.most_rows:
            ends = accumulate(self.narrow.item_words)
            for end, words, places in zip(ends, self.narrow.item_words, self.wide.item_words, strict=True):
                padding += places * parts - words
                if end < self.narrow.words:
                    before = Mux(number >= end, padding, before)
        at = Signal(range(self.wide.words * parts), name="at")
        self._m.d.comb += at.eq(number + before)
        return at[self._part_bits :], at[: self._part_bits]

    def gather(self, begins: Value, arrives: Value, first: Value, word: Value, read_at: Value) -> Value:
        """The place ``read_at`` when narrow words are written, those of a value that ``begins`` from ``first`` on."""
        m = self._m
        number, base = Signal(range(self.narrow.words), name="number"), Signal(range(self._room), name="base")
        with m.If(begins):
            m.d.sync += [number.eq(0), base.eq(first)]
        with m.Elif(arrives):
            m.d.sync += number.eq(number + 1)
        place, part = self.split(number)
        banks = []
        for at in range(1 << self._part_bits):
            bank = Ram(m, f"words{at}", self.narrow.word_bits, self._room, deep=self._deep)
            bank.write(arrives & (part == at), (base + place)[: len(base)], word)
            banks.append(bank.read(read_at))
        return Cat(*banks)[: self.wide.word_bits]

    def deal(self, arrives: Value, write_at: Value, word: Value, open: Value, first: Value, offset: Value) -> Value:
        """The narrow words, a cycle behind ``open`` from number ``offset`` of the value at ``first`` on, when wide ones
        are written at ``write_at``."""
        m = self._m
        number, base = Signal(range(self.narrow.words), name="number"), Signal(range(self._room), name="base")
        next_number, next_base = Signal.like(number, name="next_number"), Signal.like(base, name="next_base")
        m.d.comb += [next_number.eq(Mux(open, offset, number + 1)), next_base.eq(Mux(open, first, base))]
        m.d.sync += [number.eq(next_number), base.eq(next_base)]
        place, part = self.split(next_number)
        following, chosen = Signal.like(base, name="following"), Signal(len(part), name="part")
        m.d.comb += following.eq(next_base + place)
        m.d.sync += chosen.eq(part)
        ring = Ram(m, "words", self.wide.word_bits, self._room, deep=self._deep)
        ring.write(arrives, write_at, word)
        address = following
        if not self._deep:
            address = Signal.like(base, name="address")
            m.d.sync += address.eq(following)
        place_word, size = ring.read(address), self.narrow.word_bits
        parts: list[Value] = [place_word[at : at + size] for at in range(0, self.wide.word_bits, size)]
        for bit in chosen:
            pairs = zip_longest(parts[::2], parts[1::2], fillvalue=Const(0, size))
            parts = [Mux(bit, upper, lower) for lower, upper in pairs]
        return parts[0]


def gathering(written: TokenFormat, read: TokenFormat) -> int | Gathering:
    """Cycles that a header waits until its words can be read without a gap; those of tiles of dynamic size by rows."""
    if written.word_bits >= read.word_bits:
        return 0
    if written.most_rows:
        return Gathering(written.row_bits, written.link_bits, read.link_bits)
    return written.words - read.words


def shown(m: Module, valid: Value, header: Value, waits: int | Gathering) -> Value:
    """``valid`` as many cycles later as the words of the value with ``header`` are gathered."""
    if waits == 0:
        return valid
    if isinstance(waits, int):
        m.submodules.lag = lag = Shared(DelayLine(1, waits))
        m.d.comb += lag.i.eq(valid)
        return lag.o
    # Words pass before the next header comes, so there is one that waits at most.
    cycles = waits.waits(header.rows)
    later = valid & header.value & (cycles != 0)
    left, _ = countdown(m, "gathers", (1 << len(cycles)) - 1, later, cycles)
    return (valid & ~later) | (left == 1)
