"""From the words of a link to the beats of off-chip memory."""

from __future__ import annotations

from dataclasses import dataclass, fields

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In

from hw.firing.machine import Firing
from hw.firing.unit import FiringRule
from hw.links.layout import DynamicFormat, TokenFormat, WriteFormat
from hw.links.words import whole
from step.language.faults import Fault

WRITE_DEPTH = 2
"""Slots of the channel in front of the memory, besides what is in flight."""


@dataclass(frozen=True)
class StoredFormat(DynamicFormat):
    """Beats of tiles of dynamic size that have to have so many ``rows`` where they are stored."""

    rows: int = 0

    @property
    def tile(self) -> TokenFormat:
        """Format of such tiles."""
        return TokenFormat(self.rank, (self.rows * self.row_bits,), self.link_bits)

    @classmethod
    def at(cls, token: TokenFormat, rows: int) -> TokenFormat:
        """``token``, if it is not dynamic, else with so many ``rows``."""
        if not isinstance(token, DynamicFormat):
            return token
        return cls(**{each.name: getattr(token, each.name) for each in fields(token)}, rows=rows)


@dataclass(frozen=True)
class BeatRule(FiringRule):
    """One beat of ``data`` per firing, for which it reads all its words; a token leaves with its last beat.

    Addresses count from ``base`` on. They wait for the data, and go beside it.
    """

    data: TokenFormat
    write: WriteFormat

    @property
    def tile(self) -> TokenFormat:
        """The format of the tiles that are stored."""
        return self.data.tile if isinstance(self.data, StoredFormat) else self.data

    initiation_interval = property(lambda self: words_of_beat(self.tile, self.write.bits))
    latency = property(lambda self: self.initiation_interval)
    ports = property(lambda self: {"base": In(32)})

    @property
    def beats(self) -> int:
        """Beats of a tile."""
        return beats_of_tile(self.tile, self.write.bits)

    def check_rows(self, m: Module, firing: Firing, port: int) -> None:
        """A tile in front of input ``port`` must have the rows of those that are stored."""
        if isinstance(self.data, StoredFormat):
            token = firing.head(port)
            with m.If(token.value & (token.rows != self.data.rows)):
                firing.fault(Fault.ROWS_DO_NOT_FILL)


def words_of_beat(token: TokenFormat, beat_bits: int) -> int:
    """Words that one beat of a tile takes; so long a firing is busy that makes one."""
    return min(token.cycles, max(1, beat_bits // token.link_bits))


def beats_of_tile(token: TokenFormat, beat_bits: int) -> int:
    """Beats of one tile."""
    return -(-token.bits // beat_bits)


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
