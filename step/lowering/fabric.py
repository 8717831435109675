"""The fabric's parameters, shared by the RTL generator and the timing model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from step.errors import FabricError
from step.language.parameters import plain

MOST_STAGES = 4
"""Stages that the finest cut of an addition has."""


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
            _check_integer(self, each.name, 1, f"memory.{each.name}")
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
        for name, least in (
            ("tile", 1),
            ("matmul_lanes", 1),
            ("vector_lanes", 1),
            ("stages", 1),
            ("link_bytes", 1),
            ("channel_depth", 2),
            ("block_ram_words", 1),
            ("outstanding", 1),
            ("scratchpad_bytes", 1),
            ("scratchpad_banks", 1),
            ("scratchpad_ports", 1),
            ("page_bytes", 1),
        ):
            _check_integer(self, name, least, name)
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
        if self.stages > MOST_STAGES:
            raise FabricError(f"stages must be at most {MOST_STAGES}, not {self.stages}")
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


def _check_integer(config: MemoryConfig | FabricConfig, name: str, least: int, called: str) -> None:
    """Raise `FabricError` unless the parameter ``name`` is an integer from ``least`` on; NumPy's become Python's."""
    value = plain(getattr(config, name))
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise FabricError(f"{called} must be an integer >= {least}, not {value!r}")
    object.__setattr__(config, name, value)
