"""The fabric's parameters, shared by the RTL generator and the timing model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar

from step.errors import FabricError
from step.host.nearest import did_you_mean
from step.language.arguments import Checked, checked
from step.language.parameters import plain
from step.lowering.dram import Dram, preset
from step.lowering.own import LANES, LINKS, MOST_BYTES, MOST_LANES, Own

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


FABRIC = "fabric."
"""What names of parameters may begin with, where those of programs stand beside them."""

MEMORY = "memory"

OWN = LANES, LINKS
"""Parameters that are numbers by the names of operators."""

LIMITS = {
    "dynamic_rows": Limit(1 << 16),
    "matmul_lanes": Limit(MOST_LANES, bits=32),
    "vector_lanes": Limit(MOST_LANES, bits=32),
    "stages": Limit(MOST_STAGES),
    "link_bytes": Limit(MOST_BYTES, bits=8),
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
    "memory.interleave": Limit(1 << 20),
}
"""Of all parameters that are integers. What is beyond is a slip of the pen: elaboration or a run would not end."""


FORMER = {
    "tile": "a tile of static size may have any shape; leave it out, or give dynamic_rows, the most rows of a tile of "
    "dynamic size"
}
"""What became of parameters that files of earlier versions have."""


@dataclass(frozen=True)
class MemoryConfig(metaclass=Checked):
    """The off-chip memory behind the fabric's ports.

    A beat is ``beat_bytes`` wide. ``interleave`` consecutive beats go to one of the ``channels``, the next ones to the
    next one. A channel takes one beat every ``interval`` cycles, and the data is back at the port ``latency`` cycles
    later. Ports that want the same channel in the same cycle take turns (round robin). The default has the bandwidth of
    two HBM2 stacks at a fabric clock of 1 GHz: 8 channels x 64 bytes a cycle.

    With ``dram``, a channel has banks, rows, refresh and a data bus (docs/memory.md); ``latency`` then counts from the
    end of the data on that bus: it is that of the controller and of the way there and back.
    """

    refused: ClassVar = FabricError

    beat_bytes: int = 64
    channels: int = 8
    interval: int = 1
    latency: int = 24
    interleave: int = 1
    dram: Dram | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.name != "dram":
                _check_integer(self, f"memory.{each.name}")
        for name in ("beat_bytes", "channels", "interleave"):
            value = getattr(self, name)
            if value & (value - 1):
                raise FabricError(f"memory.{name} must be a power of two, not {value}")
        if self.dram is None:
            return
        if not isinstance(self.dram, Dram):
            raise FabricError(f"memory.dram must be a Dram or None, not {self.dram!r}")
        for name in ("burst_bytes", "row_bytes"):
            most = getattr(self.dram, name)
            if self.beat_bytes > most:
                raise FabricError(
                    f"memory.beat_bytes must be at most memory.dram.{name} = {most}, not {self.beat_bytes}"
                )
        row_beats = self.dram.row_bytes // self.beat_bytes
        if self.dram.group_beats > row_beats:
            raise FabricError(
                f"memory.dram.group_beats must be at most the {row_beats} beats of a row, not {self.dram.group_beats}"
            )

    @classmethod
    @checked
    def preset(cls, name: str, **others: Any) -> MemoryConfig:
        """The memory of a preset (`step.lowering.dram.PRESETS`), with ``others`` of its parameters."""
        found = preset(name)
        return cls(**{"channels": found.channels, "dram": found.dram, **others})

    @classmethod
    def from_json(cls, data: str | dict[str, Any]) -> MemoryConfig:
        """From the name of a preset, or an object of parameters, whose ``dram`` is one too."""
        if isinstance(data, str):
            return cls.preset(data)
        if not isinstance(data, dict):
            raise FabricError(f"memory must be the name of a preset or an object of parameters, not {data!r}")
        _check_names("fabric memory", data, cls)
        dram = data.get("dram")
        if dram is None:
            return cls(**data)
        if not isinstance(dram, dict):
            raise FabricError(f"memory.dram must be an object of parameters or null, not {dram!r}")
        _check_names("fabric memory.dram", dram, Dram)
        missing = [each.name for each in fields(Dram) if each.name not in dram]
        if missing:
            raise FabricError(f"fabric memory.dram has no {missing[0]!r}; a DRAM needs all of its parameters")
        return cls(**{**data, "dram": Dram(**dram)})

    @property
    def bandwidth(self) -> float:
        """Bytes a cycle that all channels together can move."""
        interval = float(self.interval)
        if self.dram is not None:
            interval = max(interval, self.dram.burst * self.dram.clock_ps / self.dram.fabric_ps)
        return self.channels * self.beat_bytes / interval

    def beats(self, bits: int) -> int:
        """Beats that an element of ``bits`` bits takes; an element starts on a beat of its own."""
        return -(-bits // (8 * self.beat_bytes))

    def timing(self) -> dict[str, int]:
        """All that decides when a beat is served, as numbers by name; those of a plain memory have no DRAM."""
        numbers = {name: getattr(self, name) for name in ("channels", "interleave", "interval", "latency")}
        if self.dram is not None:
            numbers |= {"row_beats": self.dram.row_bytes // self.beat_bytes, **asdict(self.dram)}
        return numbers


def _check_names(what: str, data: dict[str, Any], kind: type[FabricConfig | MemoryConfig | Dram]) -> None:
    known = sorted(each.name for each in fields(kind))
    for name in data:
        if name not in known:
            raise _unknown(what, name, known)


def _unknown(what: str, name: str, known: list[str]) -> FabricError:
    if name in FORMER:
        return FabricError(f"{what} has no parameter {name!r} any more: {FORMER[name]}")
    return FabricError(f"{what} has no parameter {name!r}; {did_you_mean(name, known)}it has {', '.join(known)}")


@dataclass(frozen=True)
class FabricConfig(metaclass=Checked):
    """The spatial fabric that a program is elaborated for.

    ``dynamic_rows`` (R): the most rows of a tile whose rows only a run tells; links and buffers have room for so many.
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
    ``page_bytes``: step by which a buffer grows; a tile lies in one page. The default holds 16 x 16 FP32.
    ``arithmetic``: ``"rtl"``, or ``"model"`` for simulation-only arithmetic behind the same module interface.
    ``lanes``: those of single operators by their name, in the place of both kinds above: ``{"gate": 4}``.
    ``links``: ``link_bytes`` of single operators, of all that they read and send: ``{"gate": 16}``. Buffers have the
    width of the operator that fills them.
    """

    refused: ClassVar = FabricError

    dynamic_rows: int = 64
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
    lanes: Mapping[str, int] = field(default_factory=dict)
    links: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.name in LIMITS:
                _check_integer(self, each.name)
        for kind in OWN:
            object.__setattr__(self, kind, Own(kind, getattr(self, kind)))
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

    def of(self, operator: str) -> FabricConfig:
        """The fabric as the operator of this name has it: with its own ``lanes`` and ``links`` for whatever it does."""
        if not self.lanes and not self.links:
            return self
        matmul, vector = (self.lanes.get(operator, each) for each in (self.matmul_lanes, self.vector_lanes))
        link = self.links.get(operator, self.link_bytes)
        return replace(self, lanes={}, links={}, matmul_lanes=matmul, vector_lanes=vector, link_bytes=link)

    def to_json(self) -> dict[str, Any]:
        """Plain data, as saved with a program."""
        data = {each.name: getattr(self, each.name) for each in fields(self)} | {MEMORY: asdict(self.memory)}
        own = {kind: dict(data.pop(kind)) for kind in OWN}
        return data | {kind: numbers for kind, numbers in own.items() if numbers}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> FabricConfig:
        """The opposite of `to_json`; raises `FabricError` for unknown or bad fields."""
        if not isinstance(data, dict):
            raise FabricError(f"fabric must be an object of parameters, not {data!r}")
        _check_names("fabric", data, cls)
        return cls(**{**data, "memory": MemoryConfig.from_json(data.get("memory", {}))})


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


def with_settings(fabric: FabricConfig, settings: Iterable[str]) -> FabricConfig:
    """``fabric`` with some parameters replaced; raises `FabricError` for unknown names and bad values."""
    data: dict[str, Any] = {kind: {} for kind in OWN} | fabric.to_json()
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise FabricError(f"a fabric parameter must be NAME=VALUE, not {setting!r}")
        name = name.removeprefix(FABRIC)
        if name == MEMORY:
            data[MEMORY] |= asdict(preset(text))
            continue
        *groups, leaf = name.split(".")
        target: Any = data
        for group in groups:
            target = target.get(group) if isinstance(target, dict) else None
        known = groups in ([LANES], [LINKS]) or (isinstance(target, dict) and target.get(leaf) is not None)
        if not known or isinstance(target.get(leaf), dict):
            raise _unknown("fabric", name, [*_names(data), MEMORY, *(f"{kind}.OPERATOR" for kind in OWN)])
        target[leaf] = int(text) if re.fullmatch(r"-?[0-9]{1,30}", text) else text
    return FabricConfig.from_json(data)


def is_of_fabric(name: str) -> bool:
    """Whether a parameter, called as in a sweep, is one of the fabric."""
    return name.startswith((FABRIC, *(f"{group}." for group in (MEMORY, *OWN)))) or name == MEMORY


def _names(data: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The parameters that there are; those of a group come behind the others."""
    yield from (f"{prefix}{key}" for key, value in data.items() if not isinstance(value, dict) and value is not None)
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _names(value, f"{prefix}{key}.")
