"""Machines: parts, the memory beside them, and a clock that is an assumption (docs/machine.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from step.errors import FabricError, expect
from step.host.amounts import MEGAHERTZ
from step.host.nearest import among
from step.lowering.off_chip import MemoryConfig


@dataclass(frozen=True)
class Card:
    """Part with its memory, on which `FabricConfig.on` makes a fabric.

    ``source``: data sheets that say so. ``megahertz``: the clock of the fabric, an assumption: nothing here places and
    routes. ``memory``: a preset (docs/presets.md), with so many ``channels``, each behind a port of its own.
    ``latency_ns``: of the controller and of the way there and back. ``gigabytes``: its size.
    ``parts``: LUTs, flip-flops, DSPs, block RAMs (36 kbit) and UltraRAMs (288 kbit) by name; none of a chip.

    >>> step.machines.U55C.parts["dsps"], round(step.machines.U55C.at().bandwidth)
    (9024, 1840)
    """

    name: str
    source: str
    megahertz: float
    memory: str
    channels: int
    latency_ns: float
    gigabytes: float
    parts: Mapping[str, int]

    def at(self, megahertz: float | None = None, *, together: int = 1) -> MemoryConfig:
        """The memory as a fabric of this clock, by default the assumed one, sees it; so many channels go ``together``.

        A beat has the bytes that a channel moves in a cycle, rounded up to a power of two. `INTERLEAVE` beats of a
        tensor lie in a channel, the next ones in the next: so all are busy, and rows stay open.
        """
        period = round(10**6 / (megahertz or self.megahertz))
        made = MemoryConfig.preset(self.memory, channels=self.channels // together)
        assert made.dram is not None
        moved = together * made.dram.burst_bytes * period / (made.dram.burst * made.dram.clock_ps)
        beat_bytes = 1 << math.ceil(math.log2(moved))
        return replace(
            made,
            beat_bytes=beat_bytes,
            interleave=INTERLEAVE,
            latency=math.ceil(1000 * self.latency_ns / period),
            dram=replace(
                made.dram,
                fabric_ps=period,
                burst_bytes=together * made.dram.burst_bytes,
                row_bytes=together * made.dram.row_bytes,
            ),
        )


INTERLEAVE = 4
"""Beats of a tensor that lie in a channel of a machine: of 1 to 256, with these four language models take least."""

MACHINES = {
    name: Card(name, **each) for name, each in json.loads(Path(__file__).with_name("machines.json").read_text()).items()
}
"""Machines by name; the file has their sources."""

U55C, U280, V80, HBM3 = MACHINES.values()


def machine_of(text: str) -> tuple[Card, float | None]:
    """The machine of ``NAME`` or ``NAME@250MHz``, and the clock; raises `FabricError` for others."""
    name, at, clock = text.partition("@")
    if name not in MACHINES:
        raise FabricError(f"there is no machine {name!r}; {among(name, MACHINES, 'there are')}")
    if not at:
        return MACHINES[name], None
    megahertz = MEGAHERTZ.amount(clock, "the clock of a machine", FabricError)
    expect(1 <= megahertz <= 10**4, f"the clock of a machine must be 1 MHz to 10 GHz, not {clock!r}", FabricError)
    return MACHINES[name], megahertz
