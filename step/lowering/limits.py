"""How large the parameters of a fabric may be, and what is said of those that are not so."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from step.errors import FabricError
from step.host.nearest import did_you_mean
from step.language.parameters import plain
from step.lowering.own import MOST_BYTES, MOST_LANES

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
    "bus.masters": Limit(4),
    "bus.bytes": Limit(128, bits=8),
    "bus.burst": Limit(256),
    "bus.outstanding": Limit(256),
    "bus.ahead": Limit(1 << 12),
    "bus.address_bits": Limit(64, least=12),
}
"""Of all parameters that are integers. What is beyond is a slip of the pen: elaboration or a run would not end."""


FORMER = {
    "tile": "a tile of static size may have any shape; leave it out, or give dynamic_rows, the most rows of a tile of "
    "dynamic size"
}
"""What became of parameters that files of earlier versions have."""


def check_names(what: str, data: dict[str, Any], kind: type[Any]) -> None:
    """Raise `FabricError` for names in ``data`` that are no fields of ``kind``."""
    known = sorted(each.name for each in fields(kind))
    for name in data:
        if name not in known:
            raise unknown(what, name, known)


def unknown(what: str, name: str, known: list[str]) -> FabricError:
    """The error for a parameter that there is not."""
    if name in FORMER:
        return FabricError(f"{what} has no parameter {name!r} any more: {FORMER[name]}")
    return FabricError(f"{what} has no parameter {name!r}; {did_you_mean(name, known)}it has {', '.join(known)}")


def check_integer(config: Any, name: str) -> None:
    """Raise `FabricError` unless the parameter ``name`` is an integer within its limits; NumPy's become Python's."""
    limit, field = LIMITS[name], name.rpartition(".")[2]
    value = plain(getattr(config, field))
    if not isinstance(value, int) or isinstance(value, bool) or value < limit.least:
        raise FabricError(f"{name} must be an integer >= {limit.least}, not {value!r}")
    if value > limit.most:
        cost = f", which is {value * limit.bits:,} bits" if limit.bits else ""
        raise FabricError(f"{name} must be at most {limit.most:,}, not {value:,}{cost}")
    object.__setattr__(config, field, value)


def power_of_two(least: int) -> int:
    """The lowest power of two that is not below ``least``."""
    return 1 << (least - 1).bit_length()
