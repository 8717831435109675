"""Tiles on their way from off-chip memory: beats with gaps come in, words without go out."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.links.channel import ConsumerSignature, has_some, place
from hw.links.layout import TileFormat
from hw.primitives.memories import BLOCK_RAM
from hw.primitives.timing import counter
from hw.verilog.modules import Parametric
from step.lowering.storage import queued_tiles


class TileQueue(Parametric):
    """Up to ``depth_tiles``; each comes as ``beats`` beats of ``beat_bits`` bits, and leaves in the words of ``tile``.

    There is room for every beat: whoever asks for tiles sees to that. And for a tile more, as a slot is free when its
    tile is taken, although the words of that are still being read: memory may be faster than the link. A tile is seen
    in the cycle after its last beat, and read in the one after that: so words may be in ``block_ram`` without a cycle
    more. Where it has no words, its beats are only counted.
    """

    def __init__(self, tile: TileFormat, beat_bits: int, beats: int, depth_tiles: int, *, block_ram: bool) -> None:
        self._tile, self._beat_bits, self._beats = tile, beat_bits, beats
        self._depth, self._deep = depth_tiles, block_ram
        beat = {"beat": In(beat_bits)} if tile.word_bits else {}
        super().__init__({**beat, "valid": In(1), "o": Out(ConsumerSignature(tile))})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        beat, last_beat = counter(m, self._beats, "beat_place", self.valid)
        enters = Signal()
        leaves = Signal()
        level = Signal(range(self._depth + 1))
        some = has_some(m, "has_tile", level, up=enters, down=leaves) if self.far else level != 0
        m.d.comb += [enters.eq(self.valid & last_beat), self.o.valid.eq(some)]
        m.d.comb += leaves.eq(self.o.valid & self.o.ready)
        m.d.sync += level.eq(level + enters - leaves)
        if self._tile.word_bits:
            self._words(m, beat, enters)
        return m

    def _words(self, m: Module, beat: Value, enters: Signal) -> None:
        """A row of the memory is a beat or a word, whichever is wider; both begin with a row."""
        tile = self._tile
        parts = min(-(-tile.word_bits // self._beat_bits), self._beats)  # beats of a word
        words = min(-(-self._beat_bits // tile.word_bits), tile.words)  # words of a beat
        rows = -(-tile.words // words)
        shape, attrs = parts * self._beat_bits, BLOCK_RAM if self._deep else {}
        room = queued_tiles(self._depth, tile.words) * rows
        m.submodules.rows = memory = Memory(shape=shape, depth=room, init=[], attrs=attrs)
        write = memory.write_port(granularity=self._beat_bits)
        read = memory.read_port() if self._deep else memory.read_port(domain="comb")
        part, row_ends = counter(m, parts, "part", self.valid)
        with m.If(enters):
            m.d.sync += part.eq(0) if parts > 1 else []
        row, _ = counter(m, room, "write_row", self.valid & (row_ends | enters))
        m.d.comb += [write.addr.eq(row), write.en.eq(self.valid << part)]
        m.d.comb += [write.data.word_select(at, self._beat_bits).eq(self.beat) for at in range(parts)]

        oldest = place(m, "oldest", room, self.o.drop, rows)
        at = Signal(range(room))
        following = Signal(range(room))
        word: Value = Const(0, 1)
        m.d.sync += at.eq(following)
        if tile.words == 1:
            m.d.comb += following.eq(oldest)
        else:
            word, last_word = counter(m, words, "word", Const(1))
            m.d.comb += following.eq(Mux(self.o.open, oldest, at + last_word))
            if words > 1:
                with m.If(self.o.open):
                    m.d.sync += word.eq(0)
        if self._deep:
            m.d.comb += [read.addr.eq(following), read.en.eq(1)]
        else:
            m.d.comb += read.addr.eq(at)
        m.d.comb += self.o.word.eq(read.data.word_select(word, tile.word_bits))
