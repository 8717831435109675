"""The fabric's parameters, shared by the RTL generator and the timing model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from step.errors import FabricError
from step.language.parameters import plain

MOST_STAGES = 4
"""Stages that the finest cut of an addition has."""


MOST_BITS = 1 << 28
"""Of one memory: what the largest FPGAs have on the chip in all."""


@dataclass(frozen=True)
class Limit:
    """The range of a parameter; each unit of it is so many ``bits`` of a memory, of a wire or of results a cycle."""

    most: int
    bits: int = 0
    least: int = 1


LIMITS = {
    "tile": Limit(4096),
    "matmul_lanes": Limit(1 << 18, bits=32),
    "vector_lanes": Limit(1 << 18, bits=32),
    "stages": Limit(MOST_STAGES),
    "link_bytes": Limit(1 << 16, bits=8),
    "channel_depth": Limit(MOST_BITS, bits=1, least=2),
    "block_ram_words": Limit(MOST_BITS),
    "outstanding": Limit(1 << 16),
    "scratchpad_bytes": Limit(MOST_BITS // 8, bits=8),
    "scratchpad_banks": Limit(1 << 10),
    "scratchpad_ports": Limit(1 << 10),
    "page_bytes": Limit(MOST_BITS // 8, bits=8),
    "memory.beat_bytes": Limit(1 << 16, bits=8),
    "memory.channels": Limit(1 << 10),
    "memory.interval": Limit(1 << 20),
    "memory.latency": Limit(1 << 20),
}
"""Of all parameters that are integers. What is beyond is a slip of the pen: elaboration or a run would not end."""


@dataclass(frozen=True)
class MemoryConfig:
    """The off-chip memory behind the fabric's ports.

    A beat is ``beat_bytes`` wide. Consecutive beats go to consecutive ``channels``; a channel serves one beat every
    ``interval`` cycles, and the data is back at the port ``latency`` cycles after the beat was granted. Ports that
    want the same channel in the same cycle take turns (round robin). The default has the bandwidth of one HBM2
    stack at the fabric's clock: 8 channels x 64 bytes a cycle.
    """

    beat_bytes: int = 64
    channels: int = 8
    interval: int = 1
    latency: int = 24

    def __post_init__(self) -> None:
        for each in fields(self):
            _check_integer(self, f"memory.{each.name}")
        for name in ("beat_bytes", "channels"):
            value = getattr(self, name)
            if value & (value - 1):
                raise FabricError(f"memory.{name} must be a power of two, not {value}")

    def beats(self, bits: int) -> int:
        """Beats that an element of ``bits`` bits takes; an element starts on a beat of its own."""
        return -(-bits // (8 * self.beat_bytes))


@dataclass(frozen=True)
class FabricConfig:
    """The spatial fabric that a program is elaborated for.

    ``tile`` (T): a token carries at most T x T scalars.
    ``matmul_lanes``: multiply-accumulates per cycle of a matmul unit.
    ``vector_lanes``: scalars per cycle of an element-wise unit.
    ``stages``: cycles that an FP32 addition takes, 1 to 4; all arithmetic is cut into pipeline stages as finely.
    ``link_bytes``: bytes a cycle between two units; a power of two. Tiles with more bytes take several cycles.
    ``channel_depth``: slots of a channel whose depth the program does not set, >= 2.
    ``block_ram_words``: a channel whose depth needs more words than these has them in block RAM, and shows a token a
    cycle later. So have loads, at no cost.
    ``outstanding``: tiles that an off-chip load may have in flight.
    ``scratchpad_bytes``: capacity of an on-chip memory for buffers; its words are as wide as a link.
    ``scratchpad_banks``: banks of it, each with a port to write and one to read, a power of two; words take turns.
    ``scratchpad_ports``: how many Bufferizes, each with its Streamify, share a scratchpad at most.
    ``page_bytes``: what a buffer grows by; a tile lies in one page. The default holds the largest tile of the default
    fabric, 16 x 16 FP32.
    ``arithmetic``: ``"rtl"``, or ``"model"`` for simulation-only arithmetic behind the same module interface.
    """

    tile: int = 16
    matmul_lanes: int = 64
    vector_lanes: int = 16
    stages: int = 4
    link_bytes: int = 64
    channel_depth: int = 2
    block_ram_words: int = 16
    outstanding: int = 8
    scratchpad_bytes: int = 65536
    scratchpad_banks: int = 2
    scratchpad_ports: int = 2
    page_bytes: int = 1024
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    arithmetic: str = "rtl"

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.name in LIMITS:
                _check_integer(self, each.name)
        if not isinstance(self.memory, MemoryConfig):
            raise FabricError(f"memory must be a MemoryConfig, not {self.memory!r}")
        if self.link_bytes & (self.link_bytes - 1):
            raise FabricError(f"link_bytes must be a power of two, not {self.link_bytes}")
        if self.scratchpad_banks & (self.scratchpad_banks - 1):
            raise FabricError(f"scratchpad_banks must be a power of two, not {self.scratchpad_banks}")
        if self.scratchpad_bytes % self.page_bytes:
            raise FabricError(
                f"scratchpad_bytes must be a multiple of page_bytes = {self.page_bytes}, not {self.scratchpad_bytes}"
            )
        if self.arithmetic not in ("rtl", "model"):
            raise FabricError(f'arithmetic must be "rtl" or "model", not {self.arithmetic!r}')

    def to_json(self) -> dict[str, Any]:
        """Plain data, as saved with a program."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> FabricConfig:
        """The opposite of `to_json`; raises `FabricError` for unknown or bad fields."""
        known = {each.name for each in fields(cls)}
        for name in data:
            if name not in known:
                raise FabricError(f"fabric has no parameter {name!r}; it has {', '.join(sorted(known))}")
        memory = data.get("memory", {})
        if not isinstance(memory, dict):
            raise FabricError(f"memory must be an object of parameters, not {memory!r}")
        known = {each.name for each in fields(MemoryConfig)}
        for name in memory:
            if name not in known:
                raise FabricError(f"fabric memory has no parameter {name!r}; it has {', '.join(sorted(known))}")
        return cls(**{**data, "memory": MemoryConfig(**memory)})


def _check_integer(config: MemoryConfig | FabricConfig, name: str) -> None:
    """Raise `FabricError` unless the parameter ``name`` is an integer within its limits; NumPy's become Python's."""
    limit, field = LIMITS[name], name.rpartition(".")[2]
    value = plain(getattr(config, field))
    if not isinstance(value, int) or isinstance(value, bool) or value < limit.least:
        raise FabricError(f"{name} must be an integer >= {limit.least}, not {value!r}")
    if value > limit.most:
        cost = f", which is {value * limit.bits:,} bits" if limit.bits else ""
        raise FabricError(f"{name} must be at most {limit.most:,}, not {value:,}{cost}")
    object.__setattr__(config, field, value)
