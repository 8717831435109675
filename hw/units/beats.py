"""From the words of a link to the beats of off-chip memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hw.firing.machine import Firing
from hw.firing.unit import STATUS, FiringRule, Unit, pass_status
from hw.links.channel import ConsumerSignature
from hw.links.layout import TokenFormat, WriteFormat
from hw.links.tile_queue import TileQueue
from hw.links.words import whole
from hw.memory.port import OffChipPort
from hw.memory.tile_load import Deliver, OffChipUnit
from hw.verilog.structure import MEMORY_RESET
from step.language.faults import Fault
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


class TileStore(OffChipUnit):
    """The machine that sends beats, and the channel in front of the memory.

    Where tiles are acknowledged, so many ``outstanding``, also the machine that does it, and the queues between the
    two. ``written``: a beat is visible in memory; they become so in order.
    """

    def __init__(self, write: BeatRule, acknowledge: Deliver | None = None, outstanding: int = 0) -> None:
        self.write, self.acknowledge, self.outstanding = write, acknowledge, outstanding
        members: dict[str, Any] = {f"input{at}": In(ConsumerSignature(each)) for at, each in enumerate(write.inputs)}
        members |= {"base": In(32), "external": Out(stream.Signature(write.write.header)), MEMORY_RESET: In(1)}
        if acknowledge is not None:
            members |= {"output0": Unit(acknowledge).signature.members["output0"], "written": In(1)}
        super().__init__({**members, **STATUS})
        self.parameters = {"write": write, "acknowledge": acknowledge, "outstanding": outstanding or None}
        self.longest_pause = Unit(write).longest_pause

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        in_flight, beats = Unit(self.write).in_flight, self.write.beats
        tiles = self.outstanding + in_flight
        # A tile is pending with its last beat, so the first ones of another one may be on their way besides.
        answers = (1, (tiles + 1) * beats - 1) if self.acknowledge else ()
        port = OffChipPort(self.write.write, INSIDE + in_flight, *answers)
        asked = self.ask(m, self.write, port, self.external)
        if self.acknowledge is None:
            pass_status(m, asked[0], self)
        else:
            queue = TileQueue(self.acknowledge.tile, 0, beats, tiles, block_ram=False)
            self.hand_on(m, asked, self.acknowledge, queue, tiles, self.written)
        return m


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
