"""From the words of a link to the beats of off-chip memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from hw.firing import Firing
from hw.layout import TokenFormat


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
    if token.beats > 1:
        firing.read_from(port, beat * words if parts == 1 else beat >> (parts.bit_length() - 1))
    word = firing.word(port)
    data = Signal(beat_bits)
    if words > 1:
        before, place = Signal((words - 1) * token.word_bits, reset_less=True), firing.phase()
        for number in range(words - 1):
            with m.If(place == number):
                m.d.sync += before.word_select(number, len(word)).eq(word)
        m.d.comb += data.eq(Cat(before, word))
    elif parts > 1:
        m.d.comb += data.eq(word.word_select(firing.latched(beat)[: parts.bit_length() - 1], beat_bits))
    else:
        m.d.comb += data.eq(word)
    rest = token.bits % beat_bits
    if rest == 0:
        return data
    return Mux(firing.latched(beat == token.bits // beat_bits), data[:rest], data)
