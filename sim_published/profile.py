"""What the published simulator assumes of the machine, and its quirks, as parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from step.errors import FabricError


def _check_positive(record: object, *names: str) -> None:
    for each in fields(record):  # type: ignore[arg-type]
        value = getattr(record, each.name)
        if each.name in names and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise FabricError(f"{each.name} of the published profile must be an integer >= 1, not {value!r}")


@dataclass(frozen=True)
class Hbm:
    """Off-chip memory of the artifact (``HBMConfig``): ``channels`` that each take a request of ``request_bytes`` every
    ``interval`` cycles and answer it ``latency`` + ``start_up`` cycles later.

    The artifact never clears the flag of the start-up, so each request pays it.
    """

    channels: int = 32
    interval: int = 2
    latency: int = 2
    start_up: int = 14
    request_bytes: int = 64

    def __post_init__(self) -> None:
        _check_positive(self, "channels", "interval", "request_bytes")

    @property
    def delay(self) -> int:
        """Cycles from when a channel takes a request to its answer; as any channel, it is not there in none."""
        return max(self.latency + self.start_up, 1)


@dataclass(frozen=True)
class Profile:
    """Parameters of a run; the defaults are those of all published figures but Fig. 8.

    ``channel_depth``: of every channel (the artifact's default is 1024). ``honour_depths``: use the depths that the
    program gives its channels; the artifact ignores them where they matter, behind a Broadcast.
    ``on_chip_bytes``: a cycle of an on-chip memory unit (``PMU_BW``). ``flops``: a cycle of an operator, and
    ``flops_of`` that of operators by name. ``dispatch``: requests that an operator sends off chip in a cycle
    (``par_dispatch``). ``scalar_bytes``: of every scalar of a tile, whatever its type; None: as the type says.
    ``switch``: cycles of a Partition or Reassemble for an element.
    """

    channel_depth: int = 1024
    honour_depths: bool = False
    on_chip_bytes: int = 64
    flops: int = 4096
    flops_of: Mapping[str, int] = field(default_factory=dict)
    dispatch: int = 1
    scalar_bytes: int | None = 2
    switch: int = 1
    hbm: Hbm = Hbm()

    def __post_init__(self) -> None:
        _check_positive(self, "channel_depth", "on_chip_bytes", "flops", "dispatch")

    def flops_at(self, name: str) -> int:
        """Operations that the operator ``name`` does in a cycle."""
        return self.flops_of.get(name, self.flops)


VALIDATION = Profile(channel_depth=1, on_chip_bytes=256, dispatch=4, scalar_bytes=4, hbm=Hbm(channels=8))
"""That of Fig. 8, the validation against HDL: 4-byte scalars, 8 memory channels, wider on-chip memory."""
