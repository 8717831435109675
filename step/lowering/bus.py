"""The AXI4 buses on which the memory ports of a fabric may come together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from step.errors import FabricError
from step.language.arguments import Checked
from step.language.parameters import Within, settle_parameters

PAGE = 4096
"""Bytes between the addresses that no burst may pass (AXI4, A3.4.1)."""

WIDEST = 128
"""Bytes of the widest data bus of AXI4."""

AHEAD = 16
"""Beats that a master holds until their burst is asked for; LUT RAM has as many words."""

REQUEST = 16
"""Beats that are read or written at a time; even of one byte they hold the two words that a list begins with."""

LEAST_AHEAD = 2 * REQUEST
"""Beats that are asked for before they are used, at least; those of a list."""


@dataclass(frozen=True)
class BusConfig(metaclass=Checked):
    """AXI4 buses of a board.

    ``masters``: buses, 1 to 4, which share out all memory ports.
    ``bytes``: width of the data in bytes, a power of two.
    ``burst``: transfers of a burst, 1 to 256; it does not pass a multiple of its longest size, so none passes 4 KB.
    ``outstanding``: bursts that a master asks for before it has the answer to the first one, of reads and of writes
    each.
    ``ahead``: beats of values that the DMA of a source asks for before they are used.
    ``address_bits``: width of addresses, 12 to 64.

    Raises `FabricError` for numbers that no bus has.

    >>> step.BusConfig(bytes=32, burst=8).burst_bytes
    256
    """

    refused: ClassVar = FabricError
    group: ClassVar = "bus."
    protocol: ClassVar = "AXI4"
    most_transfers: ClassVar = 256

    masters: Annotated[int, Within(1, 4)] = 1
    bytes: Annotated[int, Within(1, WIDEST, bits=8)] = 64
    burst: Annotated[int, Within(1, 256)] = 16
    outstanding: Annotated[int, Within(1, 256)] = 8
    ahead: Annotated[int, Within(1, 1 << 12)] = 128
    address_bits: Annotated[int, Within(12, 64)] = 64

    def __post_init__(self) -> None:
        settle_parameters(self)
        for name, most in (("bytes", WIDEST), ("burst", min(PAGE // self.bytes, self.most_transfers))):
            value = getattr(self, name)
            if value & (value - 1) or value > most:
                raise FabricError(f"bus.{name} must be a power of two of at most {most}, not {value}")
        if self.ahead & (self.ahead - 1) or self.ahead < LEAST_AHEAD:
            raise FabricError(f"bus.ahead must be a power of two of at least {LEAST_AHEAD}, not {self.ahead}")

    @property
    def burst_bytes(self) -> int:
        """Bytes of the longest burst; a power of two of at most `PAGE`."""
        return self.burst * self.bytes

    def check_beat(self, beat_bytes: int) -> None:
        """Raise `FabricError` unless a burst holds a beat."""
        if beat_bytes > self.burst_bytes:
            raise FabricError(
                f"a burst of {self.burst} transfers of {self.bytes} bytes does not hold a beat of "
                f"memory.beat_bytes = {beat_bytes}"
            )

    def transfers(self, beat_bytes: int) -> int:
        """Transfers of a beat of so many bytes."""
        return max(1, beat_bytes // self.bytes)

    def burst_beats(self, beat_bytes: int) -> int:
        """Beats of the longest burst; one that is narrower than the bus takes a transfer all the same."""
        return self.burst // self.transfers(beat_bytes)


@dataclass(frozen=True)
class Axi3Config(BusConfig):
    """AXI3 buses, as those of a Zynq-7000: bursts of up to 16 transfers, two bits of lock, and an ID of written data.

    The ports are those of AXI4 for the rest, with ``qos``, which a Zynq-7000 has, too.
    """

    protocol: ClassVar = "AXI3"
    most_transfers: ClassVar = 16
