"""From the words of a link to the beats of off-chip memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In

from hw.firing.machine import Firing
from hw.firing.unit import FiringRule, Unit
from hw.links.layout import TokenFormat, WriteFormat
from hw.links.tile_queue import TileQueue
from hw.links.words import whole
from hw.memory.off_chip import Deliver, OffChipUnit
from hw.memory.port import OffChipPort
from step.language.faults import Fault
from step.language.graph import Node
from step.lowering.links import INSIDE


@dataclass(frozen=True)
class BeatRule(FiringRule):
    """One beat of ``data`` per firing, for which it reads all its words; a token leaves with its last beat.

    Addresses count from ``base`` on. They wait for the data, and go beside it. Tiles of dynamic size have to have so
    many ``rows``.
    """

    data: TokenFormat
    write: WriteFormat
    rows: int | None = field(default=None, kw_only=True)

    @property
    def tile(self) -> TokenFormat:
        """The format of the tiles that are stored."""
        if not self.data.most_rows or self.rows is None:
            return self.data
        return TokenFormat(self.data.rank, (self.rows * self.data.row_bits,), self.data.link_bits)

    initiation_interval = property(lambda self: words_of_beat(self.tile, self.write.bits))
    latency = property(lambda self: self.initiation_interval)
    ports = property(lambda self: {"base": In(32)})

    @property
    def beats(self) -> int:
        """Beats of a tile."""
        return -(-self.tile.bits // self.write.bits)

    def check_rows(self, m: Module, firing: Firing, port: int) -> None:
        """A tile in front of input ``port`` must have the rows of those that are stored."""
        if self.data.most_rows:
            token = firing.head(port)
            with m.If(token.value & (token.rows != self.rows)):
                firing.fault(Fault.ROWS_DO_NOT_FILL)


def storing(node: Node, write: BeatRule, acknowledge: Deliver | None = None, outstanding: int = 0) -> OffChipUnit:
    """The hardware of ``node``, which does ``write``; where tiles are acknowledged, so many are ``outstanding``."""
    in_flight, beats = Unit(write).in_flight, write.beats
    name, depth, tiles = type(node.operator).__name__, INSIDE + in_flight, outstanding + in_flight
    if acknowledge is None:
        return OffChipUnit(name, write, OffChipPort(write.write, depth))
    # A tile is pending with its last beat, so the first ones of another one may be on their way besides.
    port = OffChipPort(write.write, depth, 1, (tiles + 1) * beats - 1)
    return OffChipUnit(
        name, write, port, acknowledge, TileQueue(acknowledge.tile, 0, beats, tiles, block_ram=False), tiles
    )


def words_of_beat(token: TokenFormat, beat_bits: int) -> int:
    """Words that one beat of a tile takes; so long a firing is busy that makes one."""
    return min(token.cycles, max(1, beat_bits // token.link_bits))


def gather_beat(m: Module, firing: Firing, port: int, token: TokenFormat, beat: Signal, beat_bits: int) -> Value:
    """The bits of ``beat`` of the tile in front of input ``port`` at a firing, in the cycle of its last word.

    It is several words, or a part of one. What is behind the end of the tile is zero.
    """
    link_bits = max(token.link_bits, token.bits) if token.control else token.link_bits
    words, parts = words_of_beat(token, beat_bits), max(1, link_bits // beat_bits)
    if token.words > 1:
        firing.read_from(port, beat * words if parts == 1 else beat >> (parts.bit_length() - 1))
    word = firing.word(port)
    data = Signal(beat_bits)
    if words > 1:
        format = TokenFormat(0, (words * token.word_bits,), token.word_bits)
        m.d.comb += data.eq(whole(m, "beat", word, firing.phase(), format, words - 1))
    elif parts > 1:
        m.d.comb += data.eq(word.word_select(firing.latched(beat)[: parts.bit_length() - 1], beat_bits))
    else:
        m.d.comb += data.eq(word)
    rest = token.bits % beat_bits
    if rest == 0:
        return data
    return Mux(firing.latched(beat == token.bits // beat_bits), data[:rest], data)
