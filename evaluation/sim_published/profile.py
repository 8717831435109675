"""The machine of the published simulator, and its quirks, as parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from step.errors import FabricError
from step.language.arguments import Checked
from step.language.parameters import described, plain
from step.programs.prepare import warn

MOST = 1 << 20
"""Of every parameter; what is beyond is a slip of the pen."""


def _check_integers(record: object, least: int, *names: str) -> None:
    """Make Python's of NumPy's; raises `FabricError` for what is no integer >= ``least``."""
    for name in names:
        value = plain(getattr(record, name))
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise FabricError(f"{name} of the published profile must be an integer >= {least}, not {value!r}")
        if value > MOST:
            raise FabricError(f"{name} of the published profile must be at most {MOST:,}, not {value:,}")
        object.__setattr__(record, name, value)


@dataclass(frozen=True)
class Hbm(metaclass=Checked):
    """Off-chip memory of the artifact (``HBMConfig``): ``channels`` that each take a request of ``request_bytes`` every
    ``interval`` cycles and answer it ``latency`` + ``start_up`` cycles later.

    The artifact never clears the flag of the start-up, so each request pays it. It spreads the requests of a cycle well
    only over a power of two of channels: another number is warned of (`step.ProgramWarning`).
    """

    refused: ClassVar = FabricError

    channels: int = 32
    interval: int = 2
    latency: int = 2
    start_up: int = 14
    request_bytes: int = 64

    def __post_init__(self) -> None:
        _check_integers(self, 1, "channels", "interval", "request_bytes")
        _check_integers(self, 0, "latency", "start_up")
        reached = len({number * (number + 1) // 2 % self.channels for number in range(2 * self.channels)})
        if reached < self.channels:
            fewer = 1 << self.channels.bit_length() - 1
            warn(
                f"the published memory may be slower with {self.channels} channels than with {fewer}: the requests of "
                "a cycle go 0, 1, 3, 6, 10, .. channels behind that of the first one, which reaches only "
                f"{reached} of {self.channels} channels, but all of a power of two; take {fewer} or {2 * fewer}"
            )

    @property
    def delay(self) -> int:
        """Cycles from when a channel takes a request to its answer; as any channel, it is not there in none."""
        return max(self.latency + self.start_up, 1)


@dataclass(frozen=True)
class PublishedProfile(metaclass=Checked):
    """Parameters of a run; the defaults are those of all published figures but Fig. 8.

    ``channel_depth``: of every channel (the artifact's default is 1024). ``honour_depths``: use the depths that the
    program gives its channels; the artifact ignores them where they matter, behind a Broadcast.
    ``on_chip_bytes``: a cycle of an on-chip memory unit (``PMU_BW``). ``flops``: a cycle of an operator, and
    ``flops_of`` that of operators by name. ``dispatch``: requests that an operator sends off chip in a cycle
    (``par_dispatch``). ``scalar_bytes``: of every scalar of a tile, whatever its type; None: as the type says.
    ``switch``: cycles of a Partition or Reassemble for an element.
    """

    refused: ClassVar = FabricError

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
        _check_integers(self, 1, "channel_depth", "on_chip_bytes", "flops", "dispatch")
        _check_integers(self, 0, "switch")
        if self.scalar_bytes is not None:
            _check_integers(self, 1, "scalar_bytes")
        for name, kind in (("honour_depths", bool), ("flops_of", Mapping), ("hbm", Hbm)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise FabricError(f"{name} of the published profile must be {described(kind)}, not {value!r}")
        for name, value in self.flops_of.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise FabricError(f"flops_of[{name!r}] of the published profile must be an integer >= 1, not {value!r}")

    def flops_at(self, name: str) -> int:
        """Operations that the operator ``name`` does in a cycle."""
        return self.flops_of.get(name, self.flops)


VALIDATION = PublishedProfile(channel_depth=1, on_chip_bytes=256, dispatch=4, scalar_bytes=4, hbm=Hbm(channels=8))
"""That of Fig. 8, the validation against HDL: 4-byte scalars, 8 memory channels, wider on-chip memory."""
