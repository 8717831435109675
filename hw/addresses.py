"""Addresses of off-chip memory: from words of a stream to headers, on which rules decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Value
from amaranth.lib import data

from hw.channel import Channel
from hw.functions.words import whole
from hw.layout import Format, TokenFormat
from hw.shared import Shared
from hw.unit import Firing, Rule, Unit, join

ADDRESS_BITS = 32
ADDRESSES_DEPTH = 2


@dataclass(frozen=True)
class AddressedFormat:
    """The header of a token of ``rank``, and its address beside it."""

    rank: int

    word_bits = beats = 0

    @property
    def header(self) -> data.StructLayout:
        plain = TokenFormat(self.rank, (), 0).header
        return data.StructLayout(plain.members | {"address": ADDRESS_BITS})


@dataclass(frozen=True)
class FetchAddress(Rule):
    """Reads the words of an address, which joins the header."""

    token: TokenFormat

    @property
    def latency(self) -> int:  # type: ignore[override]
        return self.token.cycles

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.token,)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (AddressedFormat(self.token.rank),)

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        firing.put(0, done=token.done, value=token.value, stop=token.stop, rank=token.rank)
        firing.take(0)
        firing.occupy(when=token.value)
        firing.finish(token.done)
        last = self.token.cycles - 1
        firing.late(0, address=whole(m, "address", firing.word(0), firing.phase(), self.token, last))


def fetch_addresses(m: Module, token: TokenFormat, stream: Any, addressed: Any) -> None:
    """Between a ``stream`` of ``token`` and an ``addressed`` input of a unit: the fetching, and a channel behind it."""
    unit = Unit(FetchAddress(token))
    m.submodules.fetch = fetch = Shared(unit)
    m.submodules.addresses = channel = Shared(Channel(AddressedFormat(token.rank), ADDRESSES_DEPTH + unit.in_flight))
    join(m, stream, fetch.input0)
    join(m, fetch.output0, channel.i)
    join(m, channel.o, addressed)


def beat_of(address: Value, tiles: int, beats: int) -> Value:
    """The first beat of the tile at ``address``, if there are so many ``tiles`` of ``beats``."""
    return address[: max(1, (tiles - 1).bit_length())] * beats
