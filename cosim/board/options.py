"""What is asked of a board's folder."""

from __future__ import annotations

from dataclasses import dataclass

from hw.registers.wrapper import DEFAULT
from hw.verilog.structure import EdgeNames
from step.lowering.bus import BusConfig

BASE = 0x8000_0000
"""Where images lie by default, if addresses go there; else they begin at 0."""


@dataclass(frozen=True)
class Options:
    """Choices of `step board`.

    ``mhz``: the clock of constraints; ``bus_mhz``: that of the buses, where it is their own one. ``base``: where memory
    begins. ``initial_values`` as of `emit`. ``names``: those of clocks, resets and registers. ``tlast``: the level of a
    stop that ends a packet of streams at the edge; 0: each token does. ``package``: whose files there are besides
    (`cosim.board.packages`).
    """

    bus: BusConfig
    streams: bool = True
    mhz: float = 100.0
    base: int | None = None
    initial_values: bool = True
    bus_mhz: float | None = None
    names: EdgeNames = DEFAULT
    tlast: int = 0
    package: str = "axi"

    @property
    def megahertz(self) -> list[float]:
        """The frequency of each clock."""
        return [self.mhz] if self.bus_mhz is None else [self.mhz, self.bus_mhz]

    @property
    def first(self) -> int:
        """The address of the first image."""
        return self.base if self.base is not None else BASE if self.bus.address_bits >= 32 else 0
