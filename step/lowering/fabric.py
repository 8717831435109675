"""The fabric's parameters, shared by the RTL generator and the timing model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, get_origin

from step.errors import FabricError, expect
from step.host.amounts import BYTES, BYTES_A_CYCLE, MEGAHERTZ, counted
from step.language.arguments import Checked
from step.language.parameters import Within, parameter_types, settle_parameters, settled
from step.language.stream import Hops
from step.lowering.bus import BusConfig
from step.lowering.by_operator import LINKS, OWNERS, ByOperator, Lanes, LinkBytes, Stages
from step.lowering.dram import preset
from step.lowering.limits import MOST_BITS, check_names, unknown
from step.lowering.machines import MACHINES, Card, machine_of
from step.lowering.off_chip import MemoryConfig

FABRIC = "fabric."
"""What names of parameters may begin with, where those of programs stand beside them."""

MEMORY = "memory"

BANDWIDTH = f"{MEMORY}.bandwidth"
"""Bytes a cycle of the whole memory: another way to say its channels."""

MACHINE = "machine"
"""A part with its memory and clock, ``U55C`` or ``U55C@150MHz``: what `FabricConfig.on` replaces."""

MHZ = "mhz"
"""The clock; that of a fabric with DRAM is `memory.dram.fabric_ps`."""

MASTERS = f"{MEMORY}.masters"
"""AXI4 buses that memory ports share; what else there is of them stands in `memory.bus`."""

WITH_UNIT = re.compile(r"[0-9.]+ ?[^0-9. ][^0-9]*")

OWN = tuple(OWNERS)
"""Parameters that are numbers by the names of operators, or of channels."""

OPTIONAL: Mapping[str, Any] = {MACHINE: None, "hop": 0, MHZ: None}
"""Parameters of which files do not speak where they have these values."""


Clock = Annotated[float, Within(1, 10**4)]
"""MHz."""


@dataclass(frozen=True)
class FabricConfig(metaclass=Checked):
    """Spatial fabric that a program is elaborated for.

    ``dynamic_rows`` (R): the most rows of a tile whose rows only a run tells; links and buffers have room for so many.
    ``matmul_lanes``: multiply-accumulates per cycle of a matmul unit.
    ``vector_lanes``: scalars per cycle of an element-wise unit.
    ``stages``: cycles that an FP32 addition takes, 1 to 8; all arithmetic is cut into pipeline stages as finely
    as it can be.
    ``link_bytes``: bytes a cycle between two units; a power of two. Tiles with more bytes take several cycles.
    ``channel_depth``: slots of a channel whose depth the program does not set, >= 2.
    ``hop``: registers on the way through a channel whose hops the program does not set. Each keeps a token for a cycle,
    and a freed slot on its way back.
    ``block_ram_words``: a channel whose depth needs more words than these has them in block RAM, and shows a token a
    cycle later. So have loads, at no cost.
    ``outstanding``: tiles that an off-chip load may have in flight.
    ``scratchpad_bytes``: capacity of an on-chip memory for buffers; its words are as wide as a link.
    ``scratchpad_banks``: banks of it, each with a port to write and one to read, a power of two; words take turns.
    ``scratchpad_ports``: how many Bufferizes, each with its Streamify, share a scratchpad at most.
    ``page_bytes``: step by which a buffer grows; a tile lies in one page. The default holds 16 x 16 FP32.
    ``memory``: the off-chip memory, a `MemoryConfig`.
    ``arithmetic``: ``"rtl"``, or ``"model"`` for simulation-only arithmetic behind the same module interface.
    ``lanes``: lanes of single operators by their name, in the place of both kinds above: ``{"gate": 4}``.
    ``links``: ``link_bytes`` of single operators, of all that they read and send: ``{"gate": 16}``. Buffers have the
    width of the operator that fills them.
    ``cuts``: ``stages`` of single operators: ``{"quotients": 6}``.
    ``hops``: hops of single channels by their name, over all others: ``{"gate": 3, "x_broadcast.1": 0}``.
    ``machine``: None, or the name of the machine (`step.machines`) that areas are compared with.
    ``mhz``: clock by which cycles are time, stated or measured (``step synth``); with DRAM it is that of
    ``memory.dram.fabric_ps``.

    Raises `FabricError` for parameters that no fabric has.

    >>> step.run(program, "approx", fabric=FabricConfig(stages=1)).cycles, step.run(program, "approx").cycles
    (11, 32)
    """

    refused: ClassVar = FabricError
    group: ClassVar = ""

    dynamic_rows: Annotated[int, Within(1, 1 << 16)] = 64
    matmul_lanes: Lanes = 64
    vector_lanes: Lanes = 16
    stages: Stages = 4
    link_bytes: LinkBytes = 64
    channel_depth: Annotated[int, Within(2, MOST_BITS, bits=1)] = 2
    hop: Hops = 0
    block_ram_words: Annotated[int, Within(1, MOST_BITS)] = 16
    outstanding: Annotated[int, Within(1, 1 << 16)] = 8
    scratchpad_bytes: Annotated[int, Within(1, MOST_BITS // 8, bits=8)] = 65536
    scratchpad_banks: Annotated[int, Within(1, 1 << 10, power=True)] = 2
    scratchpad_ports: Annotated[int, Within(1, 1 << 10)] = 2
    page_bytes: Annotated[int, Within(1, MOST_BITS // 8, bits=8)] = 1024
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    arithmetic: Literal["rtl", "model"] = "rtl"
    lanes: Mapping[str, int] = field(default_factory=dict)
    links: Mapping[str, int] = field(default_factory=dict)
    cuts: Mapping[str, int] = field(default_factory=dict)
    hops: Mapping[str, int] = field(default_factory=dict)
    machine: str | None = None
    mhz: Clock | None = None

    def __post_init__(self) -> None:
        for kind in OWN:
            object.__setattr__(self, kind, ByOperator(kind, getattr(self, kind)))
        settle_parameters(self)
        if self.machine is not None:
            machine_of(self.machine)
        if self.mhz is not None and self.memory.dram is not None:
            period = self.memory.dram.fabric_ps
            raise FabricError(
                f"mhz is {10**6 / period:g} by memory.dram.fabric_ps = {period}: leave it out, or change that"
            )
        if self.scratchpad_bytes % self.page_bytes:
            raise FabricError(
                f"scratchpad_bytes must be a multiple of page_bytes = {self.page_bytes}, not {self.scratchpad_bytes}"
            )

    def seconds(self, cycles: int) -> float | None:
        """Time of so many ``cycles``; None where no clock is stated.

        >>> step.FabricConfig(mhz=100).seconds(250), step.FabricConfig.on("U55C", 250).seconds(250)
        (2.5e-06, 1e-06)
        """
        dram = self.memory.dram
        if dram is not None:
            return cycles * dram.fabric_ps / 10**12
        return None if self.mhz is None else cycles / (self.mhz * 10**6)

    def of(self, operator: str, link_bytes: int) -> FabricConfig:
        """The fabric with the lanes and stages of ``operator`` for whatever it does, and words of ``link_bytes``."""
        matmul, vector = (self.lanes.get(operator, each) for each in (self.matmul_lanes, self.vector_lanes))
        own = matmul, vector, self.cuts.get(operator, self.stages), link_bytes
        if own not in self._made:
            names = "matmul_lanes", "vector_lanes", "stages", "link_bytes"
            made: dict[str, Any] = {**{kind: {} for kind in OWN}, **dict(zip(names, own, strict=True))}
            self._made[own] = replace(self, **made)
        return self._made[own]

    @classmethod
    def on(cls, machine: Card | str, megahertz: float | None = None, **others: Any) -> FabricConfig:
        """The fabric of a ``machine`` at a clock, by default the assumed one, with ``others`` of its parameters.

        >>> fabric = step.FabricConfig.on("U55C", 250, stages=2)
        >>> fabric.memory.channels, fabric.machine
        (32, 'U55C')
        """
        found = MACHINES[machine_of(machine)[0].name] if isinstance(machine, str) else machine
        return cls(**{"memory": found.at(megahertz), "machine": found.name, **others})

    @cached_property
    def _made(self) -> dict[tuple[int, ...], FabricConfig]:
        """Fabrics of `of`, one for all operators with the same numbers: to check their fields takes long."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """Plain data, as saved with a program; without a bus, a machine, a clock or hops, it does not speak of them."""
        data = {each.name: getattr(self, each.name) for each in fields(self)} | {MEMORY: asdict(self.memory)}
        if self.memory.bus is None:
            del data[MEMORY]["bus"]
        own = {kind: dict(data.pop(kind)) for kind in OWN}
        told = {name: value for name, value in data.items() if name not in OPTIONAL or value != OPTIONAL[name]}
        return told | {kind: numbers for kind, numbers in own.items() if numbers}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> FabricConfig:
        """The opposite of `to_json`; raises `FabricError` for unknown or bad fields."""
        check_names("fabric", data, cls)
        return cls(**{**data, "memory": MemoryConfig.from_json(data.get("memory", {}))})


LIMITS: Mapping[str, Within] = {
    f"{group}{name}": hint.__metadata__[0]
    for group, kind in (("", FabricConfig), ("memory.", MemoryConfig), ("bus.", BusConfig))
    for name, hint in parameter_types(kind).items()
    if get_origin(hint) is Annotated
}
"""Of all parameters that are integers. What is beyond is a slip of the pen: elaboration or a run would not end."""


def with_settings(fabric: FabricConfig, settings: Iterable[str]) -> FabricConfig:
    """``fabric`` with some parameters replaced; raises `FabricError` for unknown names and bad values."""
    told = fabric.to_json()
    optional = {name: told.get(name, value) for name, value in OPTIONAL.items()}
    data: dict[str, Any] = {kind: {} for kind in OWN} | told | optional
    for setting in settings:
        name, equals, text = setting.partition("=")
        expect(equals, f"a fabric parameter must be NAME=VALUE, not {setting!r}", FabricError)
        name = name.removeprefix(FABRIC)
        if name == MEMORY:
            data[MEMORY] |= asdict(preset(text))
            continue
        if name == MACHINE:
            machine, megahertz = machine_of(text)
            data |= {MACHINE: machine.name, MEMORY: asdict(machine.at(megahertz))}
            continue
        if name == MHZ:
            if data[MACHINE] is not None:
                raise FabricError(f"the clock of a machine is said with it: {MACHINE}={data[MACHINE]}@{text.strip()}")
            megahertz = MEGAHERTZ.amount(text, name, FabricError)
            if (dram := data[MEMORY]["dram"]) is None:
                data[MHZ] = megahertz
            else:
                settled(megahertz, Clock, name, FabricError)
                data[MEMORY]["dram"] = {**dram, "fabric_ps": round(10**6 / megahertz)}
            continue
        if name == BANDWIDTH:
            memory = MemoryConfig.from_json(data[MEMORY])
            data[MEMORY]["channels"] = memory.of_bandwidth(_positive(name, text)).channels
            continue
        if name == MASTERS:
            data[MEMORY] = asdict(MemoryConfig.from_json(data[MEMORY]).of_masters(_masters(text)))
            continue
        *groups, leaf = name.split(".", 1 if name.startswith(tuple(f"{kind}." for kind in OWN)) else -1)
        target: Any = data
        for group in groups:
            target = target.get(group) if isinstance(target, dict) else None
        known = (groups and groups[0] in OWN) or (isinstance(target, dict) and target.get(leaf) is not None)
        if not known or isinstance(target.get(leaf), dict):
            single = (f"{kind}.{of.upper()}" for kind, of in OWNERS.items())
            raise unknown("fabric", name, [*_names(data), MEMORY, MACHINE, MHZ, BANDWIDTH, MASTERS, *single])
        target[leaf] = _value(name, text, groups == [LINKS] or leaf.endswith("bytes"))
    return FabricConfig.from_json(data)


def _value(name: str, text: str, bytes_: bool) -> int | str:
    """An integer, also as ``64KiB`` or ``16k``; other texts as they are."""
    if re.fullmatch(r"-?[0-9]{1,30}", text):
        return int(text)
    if WITH_UNIT.fullmatch(text):
        return int((BYTES if bytes_ else counted("units")).amount(text, name, FabricError))
    return text


def _positive(name: str, text: str) -> float:
    if WITH_UNIT.fullmatch(text):
        return BYTES_A_CYCLE.amount(text, name, FabricError)
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    expect(0 < number < float("inf"), f"{name} must be a number above 0, not {text!r}", FabricError)
    return number


def _masters(text: str) -> int:
    if not re.fullmatch("[0-4]", text):
        raise FabricError(f"{MASTERS} must be 0, where each port is one of the memory, or 1 to 4, not {text!r}")
    return int(text)


def is_of_fabric(name: str) -> bool:
    """Whether a parameter, called as in a sweep, is one of the fabric."""
    return name.startswith((FABRIC, *(f"{group}." for group in (MEMORY, *OWN)))) or name in (MEMORY, MACHINE)


def _names(data: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The parameters that there are; those of a group come behind the others."""
    yield from (f"{prefix}{key}" for key, value in data.items() if not isinstance(value, dict) and value is not None)
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _names(value, f"{prefix}{key}.")
