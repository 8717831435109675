"""DRAM behind the fabric's ports: its timings, and presets with their sources."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from step.errors import FabricError, expect
from step.language.arguments import Checked
from step.language.parameters import Within, settle_parameters

Positive = Annotated[int, Within(1, 1 << 40)]
Power = Annotated[int, Within(1, 1 << 40, power=True)]


@dataclass(frozen=True)
class Dram(metaclass=Checked):
    """The DRAM of every memory channel; times have the names of JEDEC and are in clocks of the DRAM.

    ``fabric_ps``: a cycle of the fabric in picoseconds, ``clock_ps``: a clock of the DRAM (tCK).
    ``banks`` of a channel, in ``bank_groups``; a bank has one row of ``row_bytes`` open. ``group_beats`` consecutive
    beats of a channel are in one bank group, the next ones in the next one.
    ``burst_bytes`` are moved by one column command, in ``burst`` clocks of the data bus. A wider beat takes several,
    in different bank groups; ``group_beats`` then counts these bursts.
    ``cl``, ``cwl``: from a read or write command to its data. ``trcd``: from an activation to a column command;
    ``trp``: from a precharge to an activation; ``tras``: from an activation to a precharge.
    ``tccd_l``: between column commands of a bank group; those of others follow as soon as the data bus is free.
    ``trrd_s``, ``trrd_l``: between activations, and between those of a bank group; ``tfaw``: four of them take so long.
    ``trtp``: from a read command to a precharge; ``twr``: from the end of written data to a precharge.
    ``twtr_s``, ``twtr_l``: from the end of written data to a read command, and to one in the same bank group.
    ``turnaround``: clocks in which the data bus rests between read data and written data.
    ``trefi``: between refreshes, each of all banks, which takes ``trfc``.
    ``queue``: beats of a channel that are granted and whose data did not pass yet, at most.
    ``out_of_turn``: how many beats in a row are granted because they are ready first, and not in turn.
    """

    refused: ClassVar = FabricError
    group: ClassVar = "memory.dram."

    fabric_ps: Positive
    clock_ps: Positive
    banks: Power
    bank_groups: Power
    row_bytes: Power
    group_beats: Power
    burst_bytes: Power
    burst: Positive
    cl: Positive
    cwl: Positive
    trcd: Positive
    trp: Positive
    tras: Positive
    tccd_l: Positive
    trrd_s: Positive
    trrd_l: Positive
    tfaw: Positive
    trtp: Positive
    twr: Positive
    twtr_s: Positive
    twtr_l: Positive
    turnaround: Positive
    trefi: Positive
    trfc: Positive
    queue: Positive
    out_of_turn: Positive

    def __post_init__(self) -> None:
        settle_parameters(self)
        if self.bank_groups > self.banks:
            raise FabricError(f"memory.dram.bank_groups must be at most banks = {self.banks}, not {self.bank_groups}")
        if self.trefi <= self.trfc + self.trp:
            least = self.trfc + self.trp
            raise FabricError(f"memory.dram.trefi must be more than trfc + trp = {least}, not {self.trefi}")


@dataclass(frozen=True)
class Preset:
    """A kind of memory: its ``channels``, and its DRAM; None is the plain memory without banks."""

    channels: int
    dram: Dram | None


PRESETS = {
    name: Preset(each["channels"], each["dram"] and Dram(**each["dram"]))
    for name, each in json.loads(Path(__file__).with_name("presets.json").read_text()).items()
}
"""Kinds of memory by name; the file has their sources."""


def preset(name: str) -> Preset:
    """The preset of a name; raises `FabricError` for names that there are not."""
    expect(name in PRESETS, f"memory must be one of {', '.join(PRESETS)}, not {name!r}", FabricError)
    return PRESETS[name]
