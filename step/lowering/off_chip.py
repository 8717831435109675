"""The parameters of the off-chip memory behind a fabric."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, fields, replace
from math import floor, log2
from typing import Annotated, Any, ClassVar

from step.errors import FabricError
from step.language.arguments import Checked, checked
from step.language.parameters import Within, settle_parameters
from step.lowering.bus import BusConfig
from step.lowering.dram import Dram, preset
from step.lowering.limits import check_names

OR_NULL = "an object of parameters or null"


@dataclass(frozen=True)
class MemoryConfig(metaclass=Checked):
    """Off-chip memory behind the fabric's ports.

    Ports that want the same channel in the same cycle take turns (round robin). The default has the bandwidth of two
    HBM2 stacks at a fabric clock of 1 GHz: 8 channels x 64 bytes a cycle.

    ``beat_bytes``: width of a beat, a power of two.
    ``channels``: independent channels, a power of two.
    ``interval``: cycles between two beats of a channel.
    ``latency``: cycles until the data is back at the port. With ``dram`` they count from the end of the data on its
    bus: they are those of the controller and of the way there and back.
    ``interleave``: consecutive beats that go to one channel, before the next ones go to the next one.
    ``dram``: None, or banks, rows, refresh and a data bus of a channel (docs/memory.md).
    ``bus``: None, or the `BusConfig` of AXI4 buses, which the fabric's ports share: only their masters are ports of the
    memory (docs/axi.md).

    Raises `FabricError` for parameters that no memory has.

    >>> step.MemoryConfig(channels=4).bandwidth, step.MemoryConfig.preset("hbm2").bandwidth
    (256.0, 256.0)
    """

    refused: ClassVar = FabricError
    group: ClassVar = "memory."

    beat_bytes: Annotated[int, Within(1, 1 << 16, bits=8, power=True)] = 64
    channels: Annotated[int, Within(1, 1 << 10, power=True)] = 8
    interval: Annotated[int, Within(1, 1 << 20)] = 1
    latency: Annotated[int, Within(1, 1 << 20)] = 24
    interleave: Annotated[int, Within(1, 1 << 20, power=True)] = 1
    dram: Dram | None = None
    bus: BusConfig | None = None

    def __post_init__(self) -> None:
        settle_parameters(self)
        if self.bus is not None:
            self.bus.check_beat(self.beat_bytes)
        if self.dram is None:
            return
        most = self.dram.row_bytes
        if self.beat_bytes > most:
            raise FabricError(
                f"memory.beat_bytes must be at most memory.dram.row_bytes = {most}, not {self.beat_bytes}"
            )
        columns = most * self.columns // self.beat_bytes
        if self.dram.group_beats > columns:
            what = "beats" if self.columns == 1 else "bursts"
            raise FabricError(
                f"memory.dram.group_beats must be at most the {columns} {what} of a row, not {self.dram.group_beats}"
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
        check_names("fabric memory", data, cls, "the name of a preset or an object of parameters")
        made = dict(data)
        for name, kind in (("bus", BusConfig), ("dram", Dram)):
            if (given := data.get(name)) is None:
                continue
            check_names(f"fabric memory.{name}", given, kind, OR_NULL)
            missing = [each.name for each in fields(kind) if each.default is MISSING and each.name not in given]
            if missing:
                raise FabricError(f"fabric memory.dram has no {missing[0]!r}; a DRAM needs all of its parameters")
            made[name] = kind(**given)
        return cls(**made)

    @property
    def masters(self) -> int:
        """AXI4 buses that the ports share; 0: each port is one of the memory."""
        return 0 if self.bus is None else self.bus.masters

    def of_masters(self, masters: int) -> MemoryConfig:
        """The same memory, whose ports share so many buses; 0: each is a port of its own."""
        if masters == 0:
            return replace(self, bus=None)
        return replace(self, bus=BusConfig(masters) if self.bus is None else replace(self.bus, masters=masters))

    @property
    def columns(self) -> int:
        """Bursts of DRAM that a beat takes, each with a column command; a narrow beat takes a whole one."""
        return 1 if self.dram is None else max(1, self.beat_bytes // self.dram.burst_bytes)

    @property
    def bandwidth(self) -> float:
        """Bytes a cycle that all channels together can move."""
        interval = float(self.interval)
        if self.dram is not None:
            interval = max(interval, self.columns * self.dram.burst * self.dram.clock_ps / self.dram.fabric_ps)
        return self.channels * self.beat_bytes / interval

    def of_bandwidth(self, bytes_a_cycle: float) -> MemoryConfig:
        """The same memory with as many channels as move so many bytes a cycle, to one in a hundred.

        Raises `FabricError` where these are no power of two, with what would be possible.
        """
        of_one = self.bandwidth / self.channels
        wanted = bytes_a_cycle / of_one
        below = 2 ** floor(log2(wanted)) if wanted >= 1 else 0
        near = min((below, 2 * below or 1), key=lambda each: abs(each - wanted))
        if not near or abs(near - wanted) > near / 100:
            possible = " or ".join(f"{each * of_one:g}" for each in (below, 2 * below or 1) if each)
            raise FabricError(
                f"memory.bandwidth must be the {of_one:g} bytes a cycle of a channel times 1, 2, 4, ..: "
                f"{possible}, not {bytes_a_cycle:g}"
            )
        return replace(self, channels=near)

    def beats(self, bits: int) -> int:
        """Beats that an element of ``bits`` bits takes; an element starts on a beat of its own."""
        return -(-bits // (8 * self.beat_bytes))

    def timing(self) -> dict[str, int]:
        """All that decides when a beat is served, as numbers by name; those of a plain memory have no DRAM."""
        numbers = {name: getattr(self, name) for name in ("channels", "interleave", "interval", "latency")}
        if self.dram is not None:
            numbers |= {"beat_bytes": self.beat_bytes, **asdict(self.dram)}
        return numbers
